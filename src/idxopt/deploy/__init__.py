"""Deploy: what would change, putting it live, and going back (contracts 4 to 8)."""
