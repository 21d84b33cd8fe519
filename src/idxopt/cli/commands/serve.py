"""`idxopt serve models`: the sidecar."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from idxopt.cli.settings import Settings
from idxopt.cli.streams import emit_json, say, start_log
from idxopt.errors import ConfigError, ExitCode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from idxopt.sidecar.served import Model

_PACKAGES = ("fastapi", "uvicorn", "prometheus_client")


def serve_models(
    settings: Settings,
    host: Annotated[str, typer.Option("--host", metavar="ADDRESS", help="Where to listen.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", min=0, max=65_535, help="Port to listen on; 0 takes a free one and says which.")
    ] = 8080,
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            metavar="ID",
            help="Serve this model of idxopt.toml only (repeatable), or maxsim:ID for reranking with an embedder. "
            "Default: all local ones.",
        ),
    ] = None,
) -> ExitCode:
    """Serve embeddings and reranking over HTTP, in the shapes of OpenAI, Cohere and Jina.

    Example: idxopt serve models --port 8080
    """
    _require_packages()
    from idxopt.config import load_config
    from idxopt.config.secrets import read_secret
    from idxopt.sidecar.served import configured, open_served
    from idxopt.sidecar.server import address, is_local, listen, server
    from idxopt.sidecar.settings import sidecar_settings

    start_log(settings)
    config = load_config(settings.config, cluster=settings.cluster)
    limits = sidecar_settings(config)
    specs = configured(config.models, limits, model or [], str(config.file or "idxopt.toml"))
    token = None if limits.token is None else read_secret(limits.token, "sidecar.token")
    with listen(host, port) as listening:
        if token is None and not is_local(host):
            say(settings, f"warning: anybody who reaches {host} may use the models; set `token` in [sidecar]")
        opened, models = open_served(specs, config.models, secret=lambda ref: read_secret(ref, "models"))
        try:
            serving = server(models, limits, token=token)
            _announce(settings, address(listening), models)
            try:
                serving.run([listening])
            except KeyboardInterrupt:  # the signal once more, after everything was answered
                say(settings, "stopped; what was asked before is answered")
        finally:
            opened.close()
    return ExitCode.OK


def _require_packages() -> None:
    from importlib.util import find_spec

    missing = [name for name in _PACKAGES if find_spec(name) is None]
    if missing:
        raise ConfigError(
            f"the package {missing[0]} is not installed",
            place="serve models",
            remedy="pip install 'idxopt[serve]' (with torch: 'idxopt[sidecar]')",
        )


def _announce(settings: Settings, url: str, models: Sequence[Model]) -> None:
    if settings.json:
        emit_json({"url": url, "models": [{"id": one.id, "kind": one.kind} for one in models]})
        return
    say(settings, f"serving {', '.join(one.id for one in models)}")
    say(settings, f"listening on {url}")
