"""Models behind an HTTP server: OpenAI's embeddings and chat, Cohere's and Jina's rerank."""
