"""`python -m tests.models_support`: make the models that the tests use, and say where they are.

Tests on a missing model skip with the reason; with CI set they fail.
"""

import sys

from tests.models_support import (
    ModelUnavailableError,
    cross_encoder_folder,
    minilm_dynamic_folder,
    minilm_folder,
    minilm_int8_folder,
)

MODELS = {
    "all-MiniLM-L6-v2": minilm_folder,
    "the same, int8 weights": minilm_int8_folder,
    "the same, quantised": minilm_dynamic_folder,
    "a cross-encoder": cross_encoder_folder,
}


def main() -> int:
    failed = False
    for name, made in MODELS.items():
        try:
            print(f"{name:<27} {made()}", flush=True)
        except ModelUnavailableError as error:
            print(f"{name:<27} missing: {error}", file=sys.stderr)
            failed = True
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
