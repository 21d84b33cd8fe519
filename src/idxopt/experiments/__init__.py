"""Experiments of the papers on a user's own collections: programs from presets, built, searched and measured."""
