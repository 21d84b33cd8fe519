"""Studies: one search for a program, in a folder that survives being killed."""
