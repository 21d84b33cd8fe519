"""`python -m tests.models_support`: make the models that the tests use, and say where they are.

Tests on a missing model skip with the reason; with CI set they fail.
"""

import sys

from tests.models_support import ModelUnavailableError, minilm_folder, minilm_int8_folder


def main() -> int:
    failed = False
    for name, made in (("all-MiniLM-L6-v2", minilm_folder), ("all-MiniLM-L6-v2, int8", minilm_int8_folder)):
        try:
            print(f"{name:<27} {made()}", flush=True)
        except ModelUnavailableError as error:
            print(f"{name:<27} missing: {error}", file=sys.stderr)
            failed = True
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
