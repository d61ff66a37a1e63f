# Every target makes .venv by itself when it is missing or older than requirements.lock. Python 3.11 to 3.13, no root.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.ONESHELL:
.DELETE_ON_ERROR:
.PHONY: help setup demo demo-service test test-fast check lint types layers docs bench audits torture mutation clean
.DEFAULT_GOAL := help

BIN := .venv/bin
READY := .venv/.ready
export OPENBLAS_NUM_THREADS ?= 1

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*##' Makefile | sed -E 's/:.*## /\t/' | expand -t 14

setup: $(READY)  ## make .venv and install what requirements.lock pins

$(READY): requirements.lock
	@python=
	for name in $${PYTHON:-} python3.11 python3.12 python3.13 python3; do
	  if "$$name" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null; then
	    python=$$name; break
	  fi
	done
	if [ -z "$$python" ]; then
	  echo "no Python 3.11, 3.12 or 3.13 found: apt-get install python3 python3-venv, or name one: make PYTHON=/path/to/python" >&2
	  exit 1
	fi
	if ! $(BIN)/python -m pip --version >/dev/null 2>&1; then
	  if ! "$$python" -c 'import ensurepip' 2>/dev/null; then
	    version=$$("$$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
	    echo "$$python cannot make a virtual environment with pip: apt-get install python$$version-venv (or python3-venv)" >&2
	    exit 1
	  fi
	  "$$python" -m venv --clear .venv
	fi
	echo "installing into .venv"
	$(BIN)/python -m pip install -q --disable-pip-version-check -r requirements.lock
	$(BIN)/python -m pip install -q --disable-pip-version-check --no-deps -e .
	touch $@

demo: $(READY)  ## learn a plant three ways: in the terminal, and as a report in demo/
	@$(BIN)/hushloop plants draw toy --out demo
	$(BIN)/hushloop demo --out demo

demo-service: $(READY)  ## a server, 20,000 simulated homes and the dashboard; its picture goes to demo/
	@$(BIN)/python -m hushloop.service.demo

test: $(READY)  ## every test
	@$(BIN)/python -m pytest -n 2

test-fast: $(READY)  ## all but the slow tests
	@$(BIN)/python -m pytest -n 2 -m "not slow"

check: lint types layers test-fast docs  ## linters, types, layers, fast tests, docs

lint: $(READY)  ## ruff: rules and format
	@$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)  ## mypy, strict
	@$(BIN)/mypy

layers: $(READY)  ## which room may import which
	@$(BIN)/lint-imports

docs: $(READY)  ## the pages, into docs/_build/html; a warning is an error
	@$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html
	echo "docs/_build/html/index.html"

bench: $(READY)  ## every benchmark; the only target that installs jax
	@$(BIN)/python -m pip install -q --disable-pip-version-check jax
	$(BIN)/python -m benchmarks

audits: $(READY)  ## attack the promise, at length
	@$(BIN)/python -m pytest -n 2 tests/audit tests/privacy
	$(BIN)/python -m hushloop.audit.repeat --audits 200 --trials 100000 --mechanism blocks
	$(BIN)/python -m hushloop.audit.repeat --audits 200 --trials 100000 --mechanism tree

torture: $(READY)  ## 200 power cuts, 200 kills and many random lives of the service
	@HUSHLOOP_TORTURE=200 $(BIN)/python -m pytest tests/service/test_torture.py tests/service/test_torture_disk.py \
	  tests/service/test_state_machine.py tests/service/test_end_to_end.py tests/service/test_end_to_end_audit.py

mutation: $(READY)  ## mutation score of accounting, sensitivity and reports (long)
	@$(BIN)/mutmut run
	$(BIN)/mutmut results

clean:  ## remove what the targets made, .venv excepted
	@rm -rf docs/_build demo mutants .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
