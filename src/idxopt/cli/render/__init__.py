"""Answers as text. Pure: data in, lines or rich tables out; no meaning by colour alone."""
