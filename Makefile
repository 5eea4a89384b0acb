PYTHON ?= python3
BIN := .venv/bin

OLDEST_PYTHON ?= python3.10
NEWEST_PYTHON ?= python3.13
# What needs neither a browser nor heavy packages, and takes little time. Other packages are tested by `make test`.
CORE_TESTS := $(addprefix tests/,analysis benchmarks building calls cli core downloads editors judges judging metrics \
	parsing prompts providers stats store testing web/common web/review test_import.py test_layers.py test_miniature.py)
LOWEST_TESTS := tests/core tests/cli tests/store tests/providers tests/judges/test_chat.py tests/judges/test_judge_spec.py \
	tests/web/common tests/web/review tests/e2e/test_commands.py tests/e2e/test_proxy.py

.PHONY: demo test test-all test-core check docs wheel perf studies lowest clean

# The whole way, offline: a drawn benchmark, six editors, a judge, the table and a report.
demo: .venv/ready
	@echo "Running the demo (about half a minute) ..."
	@$(BIN)/creval demo

# All tests but the slow ones. The sum of their times is at the end.
test: .venv/tested .venv/browser
	@echo "Running the tests without slow ones (four to seven minutes on two cores) ..."
	@$(BIN)/pytest

# Slow tests as well: full sizes, more kills, every page of the documentation, the notebook.
test-all: .venv/tested .venv/browser
	@echo "Running all tests (about ten minutes on two cores) ..."
	@$(BIN)/pytest -m 'not study' --durations=20

# In an environment of its own without torch, browsers and other heavy packages. Tests that need one are skipped.
test-core: .venv-core/ready
	@echo "Running the core tests (about two minutes on two cores) ..."
	@.venv-core/bin/pytest $(CORE_TESTS)

# Style and types.
check: .venv/tested
	@echo "Checking style and types (about a minute) ..."
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

# The site, into the package, so that `creval docs` opens it. Any warning is an error.
docs: .venv/tested
	@echo "Building the site into src/creval/site (about half a minute) ..."
	@$(BIN)/python -m sphinx -W --keep-going -n -q -d docs/_build -b html docs src/creval/site

# A wheel that has the site in it.
wheel: docs
	@echo "Building a wheel into dist (a few seconds) ..."
	@$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .

# Speed and memory, as ratios measured side by side.
perf: .venv/tested
	@echo "Measuring speed and memory (about ten minutes) ..."
	@for script in $(wildcard perf/measure_*.py) perf/judge.py; do $(BIN)/python $$script || exit 1; done

# Simulations that take too long for every test run.
studies: .venv/tested
	@echo "Running the simulations (about half an hour) ..."
	@$(BIN)/pytest -m study -o faulthandler_timeout=0

# The lowest versions that pyproject.toml allows, with the oldest and the newest Python.
lowest:
	@echo "Testing the lowest versions of requirements on two Pythons (about five minutes) ..."
	@for python in $(OLDEST_PYTHON) $(NEWEST_PYTHON); do \
		bin=.venv-lowest/$$(basename $$python)/bin; \
		$$python -m venv --clear $${bin%/bin} && \
		$$bin/python -m pip install --quiet 'uv>=0.5' && \
		$$bin/uv pip install --quiet --python $$bin/python --resolution lowest-direct --editable . \
			'httpx>=0.28' 'hypothesis>=6.100' 'pytest>=9.0' 'pytest-xdist>=3.6' && \
		$$bin/python -m pytest -W ignore::DeprecationWarning $(LOWEST_TESTS) || exit 1; \
	done

# Installs into an environment: with uv, which is parallel, or else with pip.
install = $(if $(shell command -v uv),uv pip install --python $(1)/bin/python,$(1)/bin/python -m pip install) --quiet

.venv/ready: pyproject.toml
	@echo "Installing creval into .venv (about half a minute) ..."
	@$(PYTHON) -m venv .venv
	@$(call install,.venv) --editable .
	@touch $@

# Tests need more than the demo, torch and transformers among it, in versions that are known to pass.
.venv/tested: .venv/ready tests/constraints.txt
	@echo "Installing what tests need, about 2 GB (two to four minutes) ..."
	@$(call install,.venv) --constraint tests/constraints.txt --editable '.[dev]'
	@# Alone: it would bring another OpenCV into the place of the headless one.
	@$(call install,.venv) --no-deps 'insightface>=2'
	@touch $@

.venv-core/ready: pyproject.toml tests/constraints.txt
	@echo "Installing creval and the light test requirements into .venv-core (about half a minute) ..."
	@$(PYTHON) -m venv .venv-core
	@$(call install,.venv-core) --constraint tests/constraints.txt --editable '.[test]'
	@touch $@

# Pages are tested in a real browser. Where none can be had, their tests are skipped, but not in CI.
.venv/browser: .venv/tested tests/browser.py
	$(BIN)/python -m tests.browser && touch $@ || [ "$$CI" != true ]

clean:
	rm -rf .venv .venv-core .venv-lowest build dist creval-demo
