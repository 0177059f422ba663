# Two commands matter: `make demo` and `make test`. Both need Python >= 3.11, make and a package index.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PEERS := .venv-peers
OLDEST := .venv-oldest
# Row-wise kernels are faster with one BLAS thread, and tests run side by side.
export OPENBLAS_NUM_THREADS ?= 1
export OMP_NUM_THREADS ?= 1
# Tests start some two hundred processes: none compiles again what another has compiled.
export PYTHONDONTWRITEBYTECODE :=
# No window and no display, whatever the machine.
export MPLBACKEND ?= Agg

.PHONY: demo test lint oldest audit benchmark golden reports studies site docs clean

demo: $(VENV)/.package
	$(BIN)/python -m vignettes.demo

# Plain asserts: rewriting those of two hundred files costs each process more than their tests. `pytest FILE` shows
# the values of one that failed.
test: $(VENV)/.tests lint
	$(BIN)/python -m pytest -n 2 --dist worksteal --assert=plain -m "not audit" --doctest-modules tests dpglm

lint: $(VENV)/.tests
	$(BIN)/ruff check .
	$(BIN)/mypy

# The tests with the oldest versions that pyproject.toml allows. Another Python: make test PYTHON=python3.13.
oldest:
	$(PYTHON) -m venv --clear $(OLDEST)
	$(OLDEST)/bin/python -m pip install --quiet uv
	$(OLDEST)/bin/python -m uv pip install --quiet --python $(OLDEST)/bin/python --resolution lowest-direct \
		--config-setting editable_mode=compat --editable ".[test]"
	$(OLDEST)/bin/python -m pytest -n 2 --dist worksteal --assert=plain -m "not audit" tests

# Also the tests of Spark, where there is a Java, and the conda recipe as conda's builders read it.
audit: $(VENV)/.tests
	$(BIN)/python -m pip install --quiet --editable ".[spark]" --config-settings editable_mode=compat
	$(BIN)/python -m pip install --quiet "py-rattler-build>=0.73"
	$(BIN)/python -m pytest -n 2 --dist worksteal -m audit --thorough --durations=10 tests

benchmark: $(VENV)/.tests $(PEERS)/.installed
	$(BIN)/python -m studies run speed --jobs 1
	$(BIN)/python -m studies run predictions --jobs 2

golden: $(VENV)/.tests
	$(BIN)/python -m tests.golden.regenerate
	$(BIN)/python -m tests.golden.report_pages.regenerate
	$(BIN)/python -m vignettes.pages

# The example privacy reports and the index of reports/; pages of studies come from `make studies`.
reports: $(VENV)/.package
	$(BIN)/python -m studies.examples
	$(BIN)/python -m studies index

# Goes on from the results in studies/results; `--out FOLDER` starts anew.
studies: $(VENV)/.tests
	for name in dpsc radmm stacking hospitals fwell dlr; do $(BIN)/python -m studies run $$name --jobs 2 || exit 1; done
	$(BIN)/python -m studies index

# The site in docs/_build: warnings are errors, and nothing is asked of the network.
site: $(VENV)/.tests
	$(BIN)/python -m pip install --quiet --editable ".[docs]" --config-settings editable_mode=compat
	rm -rf docs/_build docs/reference
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet --jobs auto -b html -c docs . docs/_build

# The site, and what a browser finds on it.
docs: site
	$(BIN)/python -m pytest -m "not audit" tests/browser/test_site.py tests/browser/test_axe.py

$(VENV)/.package: pyproject.toml dpglm/_row_loops.c
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable . --config-settings editable_mode=compat
	touch $@

# Of the last package only axe-core is used, one file; the browser driver that it asks for is 50 MB.
$(VENV)/.tests: $(VENV)/.package
	$(BIN)/python -m pip install --quiet --editable ".[test,lint]" --config-settings editable_mode=compat
	$(BIN)/python -m pip install --quiet --no-deps "axe-playwright-python>=0.1.8"
	touch $@

$(PEERS)/.installed: studies/requirements-peers.txt
	$(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/python -m pip install --quiet --requirement $<
	touch $@

clean:
	rm -rf $(VENV) $(PEERS) $(OLDEST) .pytest_cache .mypy_cache .ruff_cache .hypothesis build *.egg-info
