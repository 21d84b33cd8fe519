"""Builds: manifests, state, locks, resolver, and one physical index at a time."""
