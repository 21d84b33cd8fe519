# make demo and make test are the two commands for a fresh machine: each makes its own virtual environment in .venv.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# Workers share nothing: each starts the search nodes that its tests ask for. PYTEST_ARGS replaces the default choice.
WORKERS ?= 2
PYTEST_ARGS ?= -m "not slow" -n $(WORKERS) --dist loadfile

.DEFAULT_GOAL := help
.PHONY: help venv demo test test-slow check lint types imports format lock artifacts bench clean

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

# The lock holds versions and hashes for every platform, and no address: any index that has the same files will do.
lock: ## resolve pyproject.toml anew into requirements.lock
	@test -x .venv-lock/bin/uv || { $(PYTHON) -m venv .venv-lock && .venv-lock/bin/pip install --quiet uv; }
	@.venv-lock/bin/uv pip compile pyproject.toml --all-extras --group dev --universal --python-version 3.11 \
	  --generate-hashes --no-header --no-annotate --no-emit-index-url --upgrade --quiet --output-file requirements.lock
	@if grep -nE '://|--(extra-)?index-url|--find-links|--trusted-host' requirements.lock; then \
	  echo "requirements.lock names a host" >&2; exit 1; fi
	@grep -c '==' requirements.lock | sed 's/$$/ packages locked/'

artifacts: $(STAMP) ## regenerate schema/, index_templates/, ingest_pipelines/ and the table of operators
	@$(PY) -m idxopt.program.export
	@$(PY) -m idxopt.operators.reference
	@$(PY) -m idxopt.compiler.artifacts

bench: $(STAMP) ## run every benchmark; each exits 1 when it falls short of its bar
	@set -e; for file in benchmarks/[a-z]*.py; do \
	  name=$$(basename $$file .py); grep -q '__main__' $$file || continue; \
	  echo "== benchmarks.$$name"; $(PY) -m benchmarks.$$name; done

clean: ## remove the virtual environments and tool caches
	@rm -rf $(VENV) .venv-lock .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis build dist
