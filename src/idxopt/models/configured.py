"""Whether a model can be opened as the settings say: all that is known without its weights and without a network.

Plans and applies ask it before anything is built, so that no program goes live that cannot be searched.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.util import find_spec

from idxopt.errors import ConfigError
from idxopt.models.folder import onnx_file, read_folder, tokenizer_file
from idxopt.models.identity import maxsim_of, spec_of
from idxopt.models.settings import ModelSettings
from idxopt.program.model_checks import EXTRACTIVE, MAXSIM
from idxopt.program.schema import ModelSpec

Secret = Callable[[str], str]


def check_model(
    name: str, specs: Mapping[str, ModelSpec], settings: Mapping[str, ModelSettings], secret: Secret
) -> None:
    """The program's model of this name. Raises ConfigError and ModelError (a file of its folder is not readable)."""
    spec = spec_of(name, specs)
    if spec.id == EXTRACTIVE:
        return
    if spec.id.startswith(MAXSIM):
        over = maxsim_of(spec, specs)
        check_model(over, specs, settings, secret)
        _check_token_vectors(over, specs[over], settings[specs[over].id])
        return
    chosen = settings.get(spec.id)
    if chosen is None:
        raise no_settings(spec.id)
    if spec.kind == "generator" and chosen.provider != "http":
        raise no_generators(spec.id, chosen.provider)
    check_settings(spec.id, chosen, secret)


def check_settings(id_: str, chosen: ModelSettings, secret: Secret) -> None:
    """One `[models."ID"]` table: its folder, files, address, certificate and key. Raises ConfigError and ModelError."""
    place = f'models."{id_}"'
    match chosen.provider:
        case "onnx":
            check_onnx_dtype(id_, chosen)
            read_folder(id_, chosen)
            onnx_file(id_, chosen)
        case "sentence-transformers":
            if find_spec("sentence_transformers") is None:
                raise no_torch(id_)
            if chosen.path:
                read_folder(id_, chosen)
        case "http":
            from idxopt.models.http.address import endpoint_url, trust

            assert chosen.url is not None  # validated settings of the provider http
            endpoint_url(chosen.url, "", place)
            trust(chosen.ca, place)
            if chosen.key:
                secret(chosen.key)
            tokenizer_file(id_, chosen)


def no_settings(id_: str) -> ConfigError:
    """No table says where the model runs."""
    return ConfigError(
        f'nothing says where the model "{id_}" runs',
        place=f'models."{id_}"',
        remedy=f'add [models."{id_}"] with `provider` and `path` or `url` to idxopt.toml (docs/models.md)',
    )


def no_generators(id_: str, provider: str) -> ConfigError:
    """A generator with a provider that runs none."""
    return ConfigError(
        f"the provider {provider} runs no generators", place=f'models."{id_}"', remedy="use the provider http"
    )


def no_torch(id_: str) -> ConfigError:
    """The packages of the provider sentence-transformers are missing."""
    return ConfigError(
        "the provider sentence-transformers is not installed",
        place=f'models."{id_}"',
        remedy='pip install "idxopt[sidecar]", or use the provider onnx',
    )


def check_onnx_dtype(id_: str, chosen: ModelSettings) -> None:
    """Raises ConfigError for a number type that the provider onnx cannot change."""
    if chosen.dtype != "float32":
        raise ConfigError(
            "the provider onnx computes as its file says",
            place=f'models."{id_}".dtype',
            remedy="leave `dtype` out, and name a file of the wanted kind with `file`",
        )


def no_token_vectors(over: str, id_: str) -> ConfigError:
    """An embedder (`over`: its name in the program) that cannot rerank by MaxSim."""
    return ConfigError(
        f'the embedder "{over}" gives no vectors of single tokens, and {MAXSIM}{over} needs them',
        place=f'models."{id_}"',
        remedy="run it with the provider onnx or sentence-transformers",
    )


def no_tokenizer(id_: str) -> ConfigError:
    """A model whose tokens must be counted here, and no file that says how."""
    return ConfigError(
        f'the tokenizer of the model "{id_}" is not known',
        place=f'models."{id_}"',
        remedy=f'give `tokenizer = "FOLDER"` (with a tokenizer.json) in [models."{id_}"] of idxopt.toml',
    )


def _check_token_vectors(over: str, spec: ModelSpec, chosen: ModelSettings) -> None:
    if chosen.provider == "http":
        raise no_token_vectors(over, spec.id)
    if tokenizer_file(spec.id, chosen) is None:
        raise no_tokenizer(spec.id)
