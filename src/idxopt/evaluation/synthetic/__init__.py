"""Judgments for those who have none: made from documents, by a language model, or from click logs; always marked."""
