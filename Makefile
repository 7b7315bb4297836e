# What a person who works on fdlkit types. `make help` lists it; BUILD.md explains it.

VENV ?= .venv
BIN := $(VENV)/bin
PYTEST_ARGS ?=

# The Python that the environment is made from: the first on the PATH for which
# there is a lock file. Its real path is asked for, because `python3` may be that of
# the environment itself, which is about to be replaced.
REAL_PATH := import sys; print(getattr(sys, "_base_executable", sys.executable))
ifndef PYTHON
PYTHON := $(shell for python in python3 python3.13 python3.12 python3.11; do \
  minor=$$($$python -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null) \
    && test -f requirements/lock-$$minor.txt \
    && $$python -c '$(REAL_PATH)' && break; done)
endif
MINOR := $(shell test -n "$(PYTHON)" && $(PYTHON) -c \
  'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)
LOCK := requirements/lock-$(or $(MINOR),none).txt
STAMP := $(VENV)/.made-from-lock-$(MINOR)

# uv installs the lock in seconds where pip takes most of a minute; pip will do.
# `make setup UV=` is the way to pip where there is a uv.
ifndef UV
UV := $(shell uv --version >/dev/null 2>&1 && command -v uv)
endif

# Backing the heap with huge pages makes training on a CPU about a quarter faster.
# Where the C library or the kernel does not have them, this does nothing.
HUGE_PAGES := GLIBC_TUNABLES=glibc.malloc.hugetlb=1

# Tests run in as many processes as there are cores, a file of tests in one of them; each
# needs a GiB or two, so not in more than four. Those that start several processes of a
# run have the machine alone: such processes give each other up after a while.
TEST_PROCESSES := --numprocesses=auto --maxprocesses=4 --dist=loadfile

DEMO := experiments/lm.py:base --workdir=runs/demo

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-slow golden format lock readme pictures wheel clean
.PHONY: lint lint-format lint-style lint-types lint-imports

help: ## list what can be made
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1|\2/p' Makefile | column -t -s '|' \
	  2>/dev/null || sed -n 's/^\([a-z-]*\):.*## /make \1: /p' Makefile

setup: $(STAMP) ## make .venv from the lock file, with fdlkit installed in it

$(STAMP): $(LOCK) pyproject.toml
ifneq ($(UV),)
	UV_VENV_CLEAR=1 $(UV) venv --quiet --python $(PYTHON) $(VENV)
	VIRTUAL_ENV=$(VENV) $(UV) pip sync --quiet --require-hashes $(LOCK)
	VIRTUAL_ENV=$(VENV) $(UV) pip install --quiet --no-deps --no-build-isolation \
	  --editable .
else
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps \
	  --require-hashes --requirement $(LOCK)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps \
	  --no-build-isolation --editable .
endif
	@touch $@

# Reached only where the Python at hand has no lock file.
requirements/lock-%.txt:
	@echo 'error: fdlkit needs one of the Pythons that it has a lock file for:' \
	  $(patsubst requirements/lock-%.txt,%,$(wildcard requirements/lock-*.txt)) >&2
	@echo '  found: $(or $(PYTHON),none of python3 python3.13 python3.12 python3.11)' \
	  '$(if $(MINOR),(Python $(MINOR)))' >&2
	@echo '  to name another: make $(or $(MAKECMDGOALS),setup)' \
	  'PYTHON=/path/to/python3.12' >&2
	@exit 1

demo: setup ## train the language model, then compare it with byte n-gram models
	$(HUGE_PAGES) $(BIN)/fdlkit train $(DEMO)
	$(HUGE_PAGES) $(BIN)/python tools/ngram.py $(DEMO)

test: setup ## run the fast tests
	$(BIN)/python -m pytest -m 'not slow' $(TEST_PROCESSES) $(PYTEST_ARGS)

test-slow: setup ## run the tests that take minutes
	$(BIN)/python -m pytest -m 'slow and not alone' $(TEST_PROCESSES) $(PYTEST_ARGS)
	$(BIN)/python -m pytest -m 'slow and alone' $(PYTEST_ARGS)

golden: setup ## write tests/golden anew: what the program says now
	$(BIN)/python -m pytest -m golden --update-golden $(PYTEST_ARGS)

lint: lint-format lint-style lint-types lint-imports ## check format, style, types, imports

lint-format: setup
	$(BIN)/ruff format --check .

lint-style: setup
	$(BIN)/ruff check .

lint-types: setup
	$(BIN)/mypy

lint-imports: setup
	$(BIN)/lint-imports

format: setup ## format the code and mend what ruff can mend
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

lock: ## make the lock files again (needs uv; LOCK_ARGS=--upgrade takes newer releases)
	$(PYTHON) tools/lock.py $(LOCK_ARGS)

readme: setup ## run the commands that README.md shows and put in what they print
	$(BIN)/python tools/readme.py

pictures: setup ## draw the pictures of docs/pictures.md again
	$(BIN)/python tools/pictures.py

wheel: setup ## build the wheel and the source archive into dist/
	$(BIN)/python -m build --no-isolation --outdir dist .

clean: ## remove all that these commands make, but not runs/
	rm -rf $(VENV) build dist fdlkit.egg-info .pytest_cache .mypy_cache .ruff_cache \
	  .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
