# make demo and make test are the two commands for a fresh machine: each makes its own virtual environment in .venv.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# Workers share nothing: each starts the search nodes that its tests ask for. PYTEST_ARGS replaces the default choice.
WORKERS ?= 2
# Every extra but sidecar, whose torch takes gigabytes: it has a lock and an environment of its own, outside the clone,
# kept from one lock to the next.
LOCKED_EXTRAS := --extra hnsw --extra keyring --extra parquet --extra serve
TORCH_LOCK_HASH = $(firstword $(shell $(PYTHON) -c 'import hashlib, sys; print(hashlib.sha256(open("requirements-sidecar.lock", "rb").read() + sys.version.encode()).hexdigest()[:16])'))
TORCH_VENV ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/idxopt/torch-venv/$(TORCH_LOCK_HASH)
PYTEST_ARGS ?= -m "not slow and not torch" -n $(WORKERS) --dist loadfile

.DEFAULT_GOAL := help
.PHONY: help venv demo test test-slow test-torch torch-venv check lint types imports format lock artifacts bench clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 12

venv: $(STAMP) ## make .venv from requirements.lock

$(STAMP): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "idxopt needs Python 3.11 or newer; name one with: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@test -x $(PY) || $(PYTHON) -m venv $(VENV)
	@echo "Installing the locked requirements into $(VENV) ..."
	@$(PY) -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@$(PY) -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

demo: $(STAMP) ## build, compare and query an index of the standard library's own documentation
	@$(PY) -m tests.nodes
	@$(BIN)/idxopt demo

test: $(STAMP) ## all tests but the slow ones; those on real nodes too where Java and Maven are at hand
	@$(PY) -m tests.nodes
	@$(PY) -m pytest $(PYTEST_ARGS)

test-slow: $(STAMP) ## the tests that take minutes each
	@$(PY) -m tests.nodes
	@$(PY) -m pytest -m slow

torch-venv: ## make the environment with torch (5 GB) from requirements-sidecar.lock
	@test -f "$(TORCH_VENV)/.installed" || { \
	  mkdir -p "$(dir $(TORCH_VENV))" && rm -rf "$(TORCH_VENV)" && $(PYTHON) -m venv "$(TORCH_VENV)" && \
	  "$(TORCH_VENV)/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes \
	    -r requirements-sidecar.lock && touch "$(TORCH_VENV)/.installed"; }

test-torch: torch-venv ## the tests that need torch, in that environment
	@PYTHONPATH="$(CURDIR)/src" "$(TORCH_VENV)/bin/python" -m pytest -p no:cacheprovider -m torch --timeout 1200

check: lint types imports ## ruff, mypy, import-linter

lint: $(STAMP)
	@$(BIN)/ruff check --output-format concise .
	@$(BIN)/ruff format --check .

types: $(STAMP)
	@$(BIN)/mypy

imports: $(STAMP)
	@$(BIN)/lint-imports

format: $(STAMP) ## let ruff format and mend what it can
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

# The locks hold versions and hashes for every platform, and no address: any index that has the same files will do.
LOCK = .venv-lock/bin/uv pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes \
  --no-header --no-annotate --no-emit-index-url --upgrade --quiet

lock: ## resolve pyproject.toml anew into the four locks: idxopt, with torch, and for the two images
	@test -x .venv-lock/bin/uv || { $(PYTHON) -m venv .venv-lock && .venv-lock/bin/pip install --quiet uv; }
	@$(LOCK) --group dev $(LOCKED_EXTRAS) --output-file requirements.lock
	@$(LOCK) --group dev $(LOCKED_EXTRAS) --extra sidecar -c requirements.lock --output-file requirements-sidecar.lock
	@$(LOCK) --group build --extra serve -c requirements.lock --output-file docker/requirements-cpu.lock
	@$(LOCK) --group build --extra sidecar -c requirements-sidecar.lock --output-file docker/requirements-cuda.lock
	@if grep -nE '://|--(extra-)?index-url|--find-links|--trusted-host' $(LOCKS); then \
	  echo "a lock names a host" >&2; exit 1; fi
	@grep -c '==' $(LOCKS) | sed 's/$$/ packages locked/'
LOCKS = requirements.lock requirements-sidecar.lock docker/requirements-cpu.lock docker/requirements-cuda.lock

artifacts: $(STAMP) ## regenerate schema/, index_templates/, ingest_pipelines/ and the table of operators
	@$(PY) -m idxopt.program.export
	@$(PY) -m idxopt.operators.reference
	@$(PY) -m idxopt.compiler.artifacts

bench: $(STAMP) ## run every benchmark; each exits 1 when it falls short of its bar
	@set -e; for file in $$(grep -lr --include='*.py' '^if __name__ == "__main__"' benchmarks | LC_ALL=C sort); do \
	  name=$${file%.py}; name=$${name%/__main__}; name=$${name//\//.}; echo "== $$name"; $(PY) -m $$name; done

clean: ## remove the virtual environments and tool caches
	@rm -rf $(VENV) .venv-lock .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis build dist
