"""idxopt makes an OpenSearch or Elasticsearch deployment answer better by changing what is indexed."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("idxopt")
except PackageNotFoundError:  # running from a source tree that was never installed
    __version__ = "0.0.0"

__all__ = ["__version__"]
