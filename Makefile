# Everything a newcomer needs: `make demo` and `make test`. Both install by themselves, once.
PYTHON ?= python3
VENV := .venv
# EXTRAS=dev,export,serve,clients also runs the tests of ONNX, transformers and the server
EXTRAS ?= dev
TEST_JOBS ?= 2  # processes, of one thread each
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed-$(EXTRAS)
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(TEST_JOBS) --dist worksteal -rs

.PHONY: help install node demo test test-fast lint types notebook clean

help:
	@echo "make demo       train the three backends on the embedded corpus and draw their alignments"
	@echo "make test       check the style and the types, then run every test (about 10 minutes on 2 cores)"
	@echo "make test-fast  run the tests that are not marked slow (about a minute and a half on 2 cores)"
	@echo "make lint       check the style alone; make types checks the types alone"
	@echo "make notebook   write the notebook from its script"
	@echo "make install    create $(VENV) and install into it; the other targets do this when it is needed"
	@echo "make node       install the clients in JavaScript that the tests let speak to the server, into $(VENV)/node"
	@echo "make clean      remove $(VENV), the caches and runs/demo"

install: $(STAMP)

# The constraints pin what was tested, and torch's CPU build where the package index has one.
$(STAMP): pyproject.toml .ci/constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(0 if (3, 11) <= v < (3, 13) else "Python 3.11 or 3.12 is needed, this is %d.%d; try: make PYTHON=python3.11 ..." % v)'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing into $(VENV), once; this takes a few minutes"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c .ci/constraints.txt torch
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c .ci/constraints.txt -e '.[$(EXTRAS)]'
	@touch $@

# Without them, and without Node, their tests are skipped.
node:
	@mkdir -p $(VENV)/node
	@cp .ci/node/package.json .ci/node/package-lock.json $(VENV)/node
	@npm ci --prefix $(VENV)/node --ignore-scripts --no-audit --no-fund --silent

demo: $(STAMP)
	@$(BIN)/python scripts/demo.py

lint: $(STAMP)
	@$(BIN)/ruff check translate tests scripts notebooks
	@$(BIN)/ruff format --check translate tests scripts notebooks

types: $(STAMP)
	@$(BIN)/mypy

test: lint types
	@$(PYTEST)

test-fast: $(STAMP)
	@$(PYTEST) -m "not slow"

notebook: $(STAMP)
	@$(BIN)/python scripts/notebook.py notebooks/attention_by_hand.py

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis runs/demo
