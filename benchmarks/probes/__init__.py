"""Programs that a benchmark starts and watches from outside."""
