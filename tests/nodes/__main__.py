"""`python -m tests.nodes`: say which real nodes this machine can start, and what happens where it cannot.

`--prepare` also fetches and compiles what they need, so that the tests find it ready.
"""

import argparse
import os
import shutil
import sys

from tests.nodes.artifacts import NodeUnavailableError
from tests.nodes.containers import docker_is_up
from tests.nodes.jdks import find_jdk
from tests.nodes.launcher import RECIPES, Recipe, prepare


def _state(recipe: Recipe) -> tuple[bool, str]:
    if os.environ.get(recipe.url_variable):
        return True, f"at {os.environ[recipe.url_variable]} ({recipe.url_variable})"
    jdk, maven = find_jdk(recipe.java), shutil.which("mvn")
    if jdk and maven:
        return True, f"started by the tests on Java {jdk.feature}, from Maven artifacts"
    if docker_is_up():
        return True, "started by the tests in a container"
    missing = [name for name, found in ((f"Java {recipe.java}+ (a JDK)", jdk), ("Maven", maven)) if not found]
    return False, f"missing: {' and '.join(missing)}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.nodes", description=__doc__)
    parser.add_argument("--prepare", action="store_true", help="fetch and compile what the nodes need")
    options = parser.parse_args()
    complete = True
    for recipe in RECIPES.values():
        available, text = _state(recipe)
        print(f"OpenSearch {recipe.version:<7} {text}", flush=True)
        complete = complete and available
        if options.prepare and available and not os.environ.get(recipe.url_variable):
            try:
                prepare(recipe.version)
            except NodeUnavailableError as error:
                print(f"  {error}", file=sys.stderr)
                return 1
    if not complete:
        print(
            "Tests on a missing node skip with this reason; with CI set they fail. `.ci/run` installs what is missing."
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
