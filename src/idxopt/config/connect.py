"""From a profile to an engine."""

from __future__ import annotations

from idxopt.config.profile import Profile
from idxopt.config.secrets import read_secret
from idxopt.engines.port import Engine


def connect(name: str, profile: Profile) -> Engine:
    """Opens the engine of a profile; secrets are read here and nowhere else.

    Adapters are imported here on demand: the embedded engine must not load a server's client, nor the other way round.
    """
    place = f"clusters.{name}"
    if profile.engine == "embedded":
        from idxopt.engines.embedded import EmbeddedEngine

        assert profile.folder is not None  # a validated profile
        return EmbeddedEngine(profile.folder, graph_rows=profile.hnsw_rows)
    from idxopt.engines.opensearch import OpenSearchEngine

    assert profile.url is not None
    auth = profile.auth
    user = (
        read_secret(auth.user, f"{place}.auth.user")
        if auth.user and auth.user.startswith(("env:", "file:", "keyring:"))
        else auth.user
    )
    return OpenSearchEngine.connect(
        profile.url,
        user=user,
        password=read_secret(auth.password, f"{place}.auth.password") if auth.password else None,
        ca=profile.ca,
        client_cert=auth.client_cert,
        client_key=auth.client_key,
        verify=profile.verify,
        timeout_s=profile.timeout_s,
    )
