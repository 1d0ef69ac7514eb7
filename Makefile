# Everything a newcomer needs: `make demo` and `make test`. Both install by themselves, once.
PYTHON ?= python3
VENV := .venv
EXTRAS ?=       # of `make install`, such as serve,export,prepare
TEST_JOBS ?= 2  # processes, of one thread each
BIN := $(VENV)/bin
comma := ,
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(TEST_JOBS) --dist worksteal -rs
# Errors are printed, warnings are not. The constraints pin what was tested, and torch's CPU build where the
# package index has one.
PIP := $(BIN)/python -m pip install -qq --disable-pip-version-check -c .ci/constraints.txt

.PHONY: help install demo test test-fast lint types notebook docs clean

help:
	@echo "make demo       train the three backends on the embedded corpus and draw their alignments"
	@echo "make test       check the style and the types, then run every test (about 8 minutes on 2 cores)"
	@echo "make test-fast  run the tests that are not marked slow (about a minute and a half on 2 cores)"
	@echo "make lint       check the style alone; make types checks the types alone"
	@echo "make notebook   write the notebooks from their scripts"
	@echo "make docs       build the site of the documentation in build/docs (a minute; warnings are errors)"
	@echo "make install    create $(VENV) and install into it, EXTRAS=serve,export,prepare with these packages;"
	@echo "                the other targets install what they need"
	@echo "make clean      remove $(VENV), the caches and runs/demo"

$(BIN)/translate: pyproject.toml .ci/constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(0 if (3, 11) <= v < (3, 13) else "Python 3.11 or 3.12 is needed, this is %d.%d; try: make PYTHON=python3.11 ..." % v)'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing into $(VENV), once; this takes a minute or two"
	@$(PIP) torch
	@$(PIP) -e .
	@touch $@

install: $(BIN)/translate
	@for extra in $(subst $(comma), ,$(EXTRAS)); do case $$extra in serve|export|prepare|spark|dev|docs) ;; \
		*) echo "no extra $$extra; EXTRAS= takes serve, export, prepare, spark, with commas between them"; exit 2;; esac; done
	@test -z "$(strip $(EXTRAS))" || $(PIP) -e '.[$(strip $(EXTRAS))]'
	@echo "installed; now: source $(VENV)/bin/activate"

$(VENV)/.dev: pyproject.toml .ci/constraints.txt | $(BIN)/translate
	@echo "installing what the tests need into $(VENV), once; this takes a minute or two"
	@$(PIP) -e '.[dev]'
	@touch $@

# Clients in JavaScript that the tests let speak to the server, and axe-core for its page. Without npm their
# tests are skipped.
$(VENV)/node: .ci/node/package-lock.json | $(VENV)/.dev
	@mkdir -p $@
	@cp .ci/node/package.json .ci/node/package-lock.json $@
	@npm ci --prefix $@ --ignore-scripts --no-audit --no-fund --silent || \
		echo "npm could not install the clients in JavaScript; their tests are skipped"
	@touch $@

demo: $(BIN)/translate
	@$(BIN)/python scripts/demo.py

lint: $(VENV)/.dev
	@$(BIN)/ruff check translate tests scripts notebooks docs
	@$(BIN)/ruff format --check translate tests scripts notebooks docs

types: $(VENV)/.dev
	@$(BIN)/mypy

test: lint types $(VENV)/node
	@$(PYTEST)

test-fast: $(VENV)/.dev
	@$(PYTEST) -m "not slow"

notebook: $(VENV)/.dev
	@for script in notebooks/*.py; do $(BIN)/python scripts/notebook.py $$script; done

$(VENV)/.docs: pyproject.toml .ci/constraints.txt | $(BIN)/translate
	@echo "installing what the site needs into $(VENV), once"
	@$(PIP) -e '.[docs]'
	@touch $@

docs: $(VENV)/.docs
	@$(BIN)/python -m sphinx -q -E -W --keep-going -c docs . build/docs
	@echo "build/docs/index.html is the site; it needs no network"

clean:
	rm -rf build/docs $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis runs/demo
