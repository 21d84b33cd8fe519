"""Real search nodes for tests and benchmarks, started from Maven artifacts."""
