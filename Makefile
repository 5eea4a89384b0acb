PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test check perf studies clean

# The whole way, offline: a drawn benchmark, six editors, a judge, the table and a report.
demo: .venv/ready
	$(BIN)/creval demo

test: .venv/tested .venv/browser
	$(BIN)/pytest

# Style and types.
check: .venv/tested
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Speed and memory, as ratios measured side by side.
perf: .venv/tested
	@for script in $(wildcard perf/measure_*.py) perf/judge.py; do $(BIN)/python $$script || exit 1; done

# Simulations that take too long for every test run.
studies: .venv/tested
	$(BIN)/pytest -m study

.venv/ready: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

# Tests need more than the demo: torch and transformers among it.
.venv/tested: .venv/ready
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	# Alone: it would bring another OpenCV into the place of the headless one.
	$(BIN)/python -m pip install --quiet --no-deps 'insightface>=2'
	touch $@

# Pages are tested in a real browser. Where none can be had, their tests are skipped, but not in CI.
.venv/browser: .venv/tested tests/browser.py
	$(BIN)/python -m tests.browser && touch $@ || [ "$$CI" != true ]

clean:
	rm -rf .venv build dist creval-demo
