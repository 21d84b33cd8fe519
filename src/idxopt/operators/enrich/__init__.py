"""The forms of `enrich`: each adds a field."""
