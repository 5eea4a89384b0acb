PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test check perf studies clean

# The whole way: a small benchmark, recorded answers, the table.
demo: .venv/ready
	$(BIN)/creval demo

test: .venv/ready
	$(BIN)/pytest

# Style and types.
check: .venv/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Speed and memory, as ratios measured side by side.
perf: .venv/ready
	@for script in perf/measure_*.py; do $(BIN)/python $$script || exit 1; done

# Simulations that take too long for every test run.
studies: .venv/ready
	$(BIN)/pytest -m study

.venv/ready: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@

clean:
	rm -rf .venv build dist creval-demo
