"""Real models for tests, benchmarks and experiments, made once and kept outside the repository."""

from tests.models_support.minilm import (
    MINILM_ID,
    ModelUnavailableError,
    cross_encoder_folder,
    minilm_dynamic_folder,
    minilm_folder,
    minilm_int8_folder,
    minilm_settings,
    minilm_spec,
    minilm_toml,
)

__all__ = [
    "MINILM_ID",
    "ModelUnavailableError",
    "cross_encoder_folder",
    "minilm_dynamic_folder",
    "minilm_folder",
    "minilm_int8_folder",
    "minilm_settings",
    "minilm_spec",
    "minilm_toml",
]
