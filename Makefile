PYTHON ?= python3
BIN := .venv/bin

OLDEST_PYTHON ?= python3.10
NEWEST_PYTHON ?= python3.13
CORE_TESTS := tests/core tests/cli tests/store tests/providers tests/judges/test_chat.py tests/judges/test_judge_spec.py \
	tests/web/common tests/web/review tests/e2e/test_commands.py tests/e2e/test_proxy.py

.PHONY: demo test check docs wheel perf studies lowest clean

# The whole way, offline: a drawn benchmark, six editors, a judge, the table and a report.
demo: .venv/ready
	$(BIN)/creval demo

test: .venv/tested .venv/browser
	@echo "Running the tests (about ten minutes on two cores) ..."
	$(BIN)/pytest

# Style and types.
check: .venv/tested
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The site, into the package, so that `creval docs` opens it. Any warning is an error.
docs: .venv/tested
	$(BIN)/python -m sphinx -W --keep-going -n -q -d docs/_build -b html docs src/creval/site

# A wheel that has the site in it.
wheel: docs
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .

# Speed and memory, as ratios measured side by side.
perf: .venv/tested
	@for script in $(wildcard perf/measure_*.py) perf/judge.py; do $(BIN)/python $$script || exit 1; done

# Simulations that take too long for every test run.
studies: .venv/tested
	$(BIN)/pytest -m study -o faulthandler_timeout=0

# The lowest versions that pyproject.toml allows, with the oldest and the newest Python.
lowest:
	@for python in $(OLDEST_PYTHON) $(NEWEST_PYTHON); do \
		bin=.venv-lowest/$$(basename $$python)/bin; \
		$$python -m venv --clear $${bin%/bin} && \
		$$bin/python -m pip install --quiet 'uv>=0.5' && \
		$$bin/uv pip install --quiet --python $$bin/python --resolution lowest-direct --editable . \
			'httpx>=0.28' 'hypothesis>=6.100' 'pytest>=9.0' 'pytest-xdist>=3.6' && \
		$$bin/python -m pytest -W ignore::DeprecationWarning $(CORE_TESTS) || exit 1; \
	done

# uv installs in parallel; where it is not there, pip does.
INSTALL = $(if $(shell command -v uv),uv pip install --python $(BIN)/python,$(BIN)/python -m pip install) --quiet

.venv/ready: pyproject.toml
	@echo "Installing creval into .venv (about half a minute) ..."
	@$(PYTHON) -m venv .venv
	@$(INSTALL) --editable .
	@touch $@

# Tests need more than the demo, torch and transformers among it, in versions that are known to pass.
.venv/tested: .venv/ready tests/constraints.txt
	@echo "Installing what tests need, about 2 GB (two to four minutes) ..."
	@$(INSTALL) --constraint tests/constraints.txt --editable '.[dev]'
	@# Alone: it would bring another OpenCV into the place of the headless one.
	@$(INSTALL) --no-deps 'insightface>=2'
	@touch $@

# Pages are tested in a real browser. Where none can be had, their tests are skipped, but not in CI.
.venv/browser: .venv/tested tests/browser.py
	$(BIN)/python -m tests.browser && touch $@ || [ "$$CI" != true ]

clean:
	rm -rf .venv .venv-lowest build dist creval-demo
