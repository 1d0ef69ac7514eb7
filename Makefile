# Everything a newcomer needs: `make demo` and `make test`. Both install by themselves, once.
PYTHON ?= python3
VENV := .venv
TEST_JOBS ?= 2  # processes, of one thread each
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: help install demo test lint types check notebook clean

help:
	@echo "make demo    train the three backends on the embedded corpus and draw what they look at"
	@echo "make test    ruff, mypy, pytest"
	@echo "make install create $(VENV) and install; the others do it by themselves"
	@echo "make clean   remove $(VENV), caches and runs/demo"

install: $(STAMP)

# The constraints pin what was tested, and torch's CPU build where the package index has one.
$(STAMP): pyproject.toml .ci/constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(0 if (3, 11) <= v < (3, 13) else "Python 3.11 or 3.12 is needed, this is %d.%d; try: make PYTHON=python3.11 ..." % v)'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing into $(VENV), once; this takes a few minutes"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c .ci/constraints.txt torch
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c .ci/constraints.txt -e '.[dev]'
	@touch $@

demo: $(STAMP)
	@$(BIN)/python scripts/demo.py

lint: $(STAMP)
	@$(BIN)/ruff check translate tests scripts notebooks
	@$(BIN)/ruff format --check translate tests scripts notebooks

types: $(STAMP)
	@$(BIN)/mypy

test: lint types
	@OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(TEST_JOBS) --dist loadfile

notebook: $(STAMP)
	@$(BIN)/python scripts/notebook.py notebooks/attention_by_hand.py

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis runs/demo
