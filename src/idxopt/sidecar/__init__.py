"""The sidecar: models behind HTTP, in the shapes that OpenAI's, Cohere's and Jina's clients speak."""
