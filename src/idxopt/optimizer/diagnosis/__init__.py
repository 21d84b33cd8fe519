"""Why queries fail under a program, and what the corpus is like."""
