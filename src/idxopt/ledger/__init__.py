"""Money and tokens: reserved before they are spent, committed afterwards (contract 9)."""
