"""Text: Lucene's analyzers, document structure by markup, sentences, identifiers. Knows nothing of programs."""
