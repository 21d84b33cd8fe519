"""`python -m tests.nodes`: say which real nodes this machine can start, and what happens where it cannot.

`--prepare` also fetches and compiles what they need, so that the tests find it ready.
"""

import argparse
import os
import shutil
import sys
from enum import Enum

from tests.nodes import secure
from tests.nodes.artifacts import NodeUnavailableError
from tests.nodes.containers import docker_is_up
from tests.nodes.jdks import find_jdk
from tests.nodes.launcher import RECIPES, Recipe, prepare


class Way(Enum):
    """How a node will be had."""

    ADDRESS = "at the address in {variable}"
    PROCESS = "started by the tests on Java {java}, from Maven artifacts"
    CONTAINER = "started by the tests in a container"
    NONE = "missing: {missing}"


def _describe(recipe: Recipe) -> tuple[Way, str]:
    jdk, maven = find_jdk(recipe.java), shutil.which("mvn")
    missing = [name for name, found in ((f"Java {recipe.java}+ (a JDK)", jdk), ("Maven", maven)) if not found]
    if os.environ.get(recipe.url_variable):
        way = Way.ADDRESS
    elif not missing:
        way = Way.PROCESS
    else:
        way = Way.CONTAINER if recipe.url_variable and docker_is_up() else Way.NONE
    java = jdk.feature if jdk else ""
    return way, way.value.format(variable=recipe.url_variable, java=java, missing=" and ".join(missing))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.nodes", description=__doc__)
    parser.add_argument("--prepare", action="store_true", help="fetch and compile what the nodes need")
    options = parser.parse_args()
    incomplete = failed = False
    for recipe in (*RECIPES.values(), secure.RECIPE):
        way, text = _describe(recipe)
        print(f"{recipe.name:<27} {text}", flush=True)
        incomplete |= way is Way.NONE
        if options.prepare and way is Way.PROCESS:
            try:
                prepare(recipe)
            except NodeUnavailableError as error:
                print(f"  {error}", file=sys.stderr)
                failed = True
    if incomplete:
        print("Tests on a missing node skip with the reason; with CI set they fail. .ci/run installs what is missing.")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
