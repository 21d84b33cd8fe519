"""AutoIndex: a search over representation programs in rounds of proposals, evaluations and decisions."""
