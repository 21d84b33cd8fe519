"""Models that programs name: embedders, rerankers and generators, their ports and their providers."""
