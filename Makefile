# Every target does its own set-up: a virtual environment in .venv, installed again when pyproject.toml changes.
# Needs python3 >= 3.11 and make; another interpreter: make test PYTHON=python3.12

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
INSTALLED := $(VENV)/.attnflow-installed
READY  := $(VENV)/.attnflow-ready
BENCH  ?= .venv-bench
# Competitors are optional, and live in an environment of their own. RIVALS= leaves NumPy alone.
RIVALS ?= torch pykeops transformers pydmd pysindy
# How XLA compiles the programs of the tests: quick, or default as for users (tests/conftest.py says which options).
XLA ?= quick

.DEFAULT_GOAL := help
.PHONY: help demo test lint bench

help:  ## this list
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/make \1	\2/p' $(MAKEFILE_LIST) | expand -t 12

demo: $(INSTALLED)  ## a quick set of experiments with pictures, and where its report is
	@code=0; $(BIN)/attnflow reproduce --paper perspective --scale quick --out demo || code=$$?; \
	if [ -f demo/report.html ]; then echo; echo "The report: $$PWD/demo/report.html (open it in a browser)"; fi; \
	exit $$code

test: lint  ## lint, types and the whole test suite
	ATTNFLOW_TEST_XLA=$(XLA) $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

lint: $(READY)  ## ruff, the imports between rooms, and pyright
	$(BIN)/python -m ruff check src tests benchmarks docs
	$(BIN)/lint-imports --no-logo --no-cache
	$(BIN)/python -m pyright

bench: $(BENCH)/.ready  ## the speed table (how to read it: benchmarks/README.md)
	$(BENCH)/bin/python -m benchmarks $(ARGS)
	$(BENCH)/bin/python -m benchmarks.forecasting
	$(BENCH)/bin/python -m benchmarks.language

# Stamps are touched last, so an interrupted set-up is done again. The demonstration needs no more than the package.
$(INSTALLED): pyproject.toml
	$(check-python)
	@echo "Setting up $(VENV) (once, a minute or two) ..."
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(READY): $(INSTALLED)
	@echo "Adding the tools for lint and tests ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

$(BENCH)/.ready: pyproject.toml
	$(check-python)
	@echo "Setting up $(BENCH) with $(or $(RIVALS),no competitors but NumPy) ..."
	@$(PYTHON) -m venv $(BENCH)
	@$(BENCH)/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'  # the page is measured, too
	@for rival in $(RIVALS); do $(BENCH)/bin/python -m pip install --quiet --disable-pip-version-check $$rival \
	  || echo "$$rival could not be installed and is left out."; done
	@touch $@

define check-python
@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
  echo "attnflow needs Python 3.11 or newer, and '$(PYTHON)' is not: install one, or name it with 'make PYTHON=python3.12 ...'." >&2; \
  exit 2; }
@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { \
  echo "'$(PYTHON)' cannot make virtual environments: install its venv module (on Debian and Ubuntu: apt install python3-venv)." >&2; \
  exit 2; }
endef
