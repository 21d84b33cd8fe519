"""idxopt makes an OpenSearch or Elasticsearch deployment answer better by changing what is indexed."""

__all__ = ["__version__"]


def __getattr__(name: str) -> str:
    """`__version__`, looked up when it is asked for: the import alone must be quick."""
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("idxopt")
    except PackageNotFoundError:  # running from a source tree that was never installed
        return "0.0.0"
