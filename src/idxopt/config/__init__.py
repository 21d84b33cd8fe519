"""idxopt.toml, environment and secrets: where clusters are and how they are reached."""

from idxopt.config.connect import connect
from idxopt.config.load import Config, load_config
from idxopt.config.profile import Profile

__all__ = ["Config", "Profile", "connect", "load_config"]
