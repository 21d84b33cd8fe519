"""The images of docker/, as far as they can be looked at without a Docker engine: what is copied exists and is sent,
the user is nobody, the command and the configuration are ones that idxopt takes.
"""

import json
import re
import shlex
import tomllib
from pathlib import Path

import pytest
import yaml

from idxopt.config import load_config
from idxopt.sidecar.served import configured
from idxopt.sidecar.settings import sidecar_settings
from tests.sidecar.serving import ROOT

FOLDER = ROOT / "docker"
IMAGES = ("cpu", "cuda")


def instructions(image):
    """(instruction, arguments) in order."""
    text = (FOLDER / f"Dockerfile.{image}").read_text(encoding="utf-8")
    lines = re.sub(r"\\\n\s*", "", re.sub(r"^#.*\n", "", text, flags=re.MULTILINE)).splitlines()
    return [tuple(line.split(maxsplit=1)) for line in lines if line.strip()]


def last(image, name):
    return next(arguments for word, arguments in reversed(instructions(image)) if word == name)


@pytest.mark.parametrize("image", IMAGES)
def test_what_is_copied_is_in_the_repository_and_in_the_context(image):
    sent = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    copied = [word for name, arguments in instructions(image) if name == "COPY" for word in arguments.split()[:-1]]
    sources = [word for word in copied if not word.startswith(("--", "/"))]
    assert f"docker/requirements-{image}.lock" in sources
    for source in sources:
        assert (ROOT / source).exists(), source
        assert source in sent, source
    assert set(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["license-files"]) <= set(sources)


@pytest.mark.parametrize("image", IMAGES)
def test_packages_are_those_of_the_locks_with_their_hashes(image):
    install = next(arguments for name, arguments in instructions(image) if name == "RUN" and ".lock" in arguments)
    assert "--require-hashes" in install
    pinned = re.compile(r"^([\w.-]+)==(\S+)", re.MULTILINE)
    main = "requirements.lock" if image == "cpu" else "requirements-sidecar.lock"
    own = set(pinned.findall((FOLDER / f"requirements-{image}.lock").read_text()))
    assert own <= set(pinned.findall((ROOT / main).read_text())), "run `make lock`"
    names = {name for name, _ in own}
    assert {"fastapi", "uvicorn", "prometheus-client", "onnxruntime", "hatchling"} <= names
    assert ("torch" in names) is (image == "cuda")
    assert not {"pytest", "ruff", "mypy"} & names


@pytest.mark.parametrize("image", IMAGES)
def test_it_runs_as_nobody_and_ends_on_sigterm(image):
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", last(image, "USER"))
    assert last(image, "STOPSIGNAL") == "SIGTERM"
    entry = json.loads(last(image, "ENTRYPOINT"))
    assert entry[:3] == ["idxopt", "serve", "models"]
    assert entry[entry.index("--port") + 1] == last(image, "EXPOSE") == "8080"
    check = json.loads(last(image, "HEALTHCHECK").partition("CMD ")[2])
    compile(check[2], "health check", "exec")
    assert "127.0.0.1:8080/ready" in check[2]


def test_the_example_configuration_is_read(monkeypatch):
    monkeypatch.setenv("IDXOPT_CONFIG", str(FOLDER / "models" / "idxopt.toml"))
    config = load_config()
    specs = configured(config.models, sidecar_settings(config), [], "idxopt.toml")
    assert {id_: spec.kind for id_, spec in specs.items()} == {
        "sentence-transformers/all-MiniLM-L6-v2": "embedder",
        "maxsim:sentence-transformers/all-MiniLM-L6-v2": "reranker",
    }


def test_the_compose_file_mounts_models_read_only_and_listens_on_this_machine_only():
    services = yaml.safe_load((FOLDER / "compose.yaml").read_text())["services"]
    assert set(services) == {"opensearch", "sidecar", "sidecar-cuda"}
    for name, image in (("sidecar", "cpu"), ("sidecar-cuda", "cuda")):
        service = services[name]
        assert (ROOT / service["build"]["dockerfile"]) == FOLDER / f"Dockerfile.{image}"
        assert (FOLDER / service["build"]["context"]).resolve() == ROOT
        assert all(volume.endswith(":/models:ro") for volume in service["volumes"])
        assert service["read_only"]
        assert service["cap_drop"] == ["ALL"]
        assert service["profiles"]
    assert all(port.startswith("127.0.0.1:") for service in services.values() for port in service["ports"])
    environment = dict(part.split("=", 1) for part in shlex.split(last("cpu", "ENV")))
    assert Path(environment["IDXOPT_CONFIG"]).parent == Path(last("cpu", "VOLUME"))
