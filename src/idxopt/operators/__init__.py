"""The interpreter: pure functions from a source document to rows (contract 2)."""
