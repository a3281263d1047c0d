# Every target sets up what it needs in .venv; nothing is installed twice.
PYTHON ?= python3
BIN := .venv/bin
SHELL := bash
export OPENBLAS_NUM_THREADS ?= 1
export OMP_NUM_THREADS ?= 1
unexport PYTHONDONTWRITEBYTECODE  # tests start Python hundreds of times, and would compile it anew
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: demo test test-floors lint docs bench bench-data bench-device fuzz calibration signals clean

demo: .venv/installed
	$(BIN)/evenodds demo

test: .venv/installed-dev lint
	$(BIN)/python -m pytest -q -n 2 --dist worksteal

# The lowest versions that pyproject.toml allows, in an environment of their own. What is older than
# Python's or another library's last change warns of it; here that is no failure.
test-floors: .venv-floors/installed
	.venv-floors/bin/python -m pytest -q -n 2 -W default @tests/smoke.txt

lint: .venv/installed-dev
	$(BIN)/ruff check src tests benchmarks
	$(BIN)/ruff format --check src tests benchmarks
	$(BIN)/mypy
	$(BIN)/lint-imports

# Every page, with figures and help made anew; a warning is a failure.
docs: .venv/installed-docs
	$(BIN)/python -m sphinx -W --keep-going -q docs docs/_build
	@echo "Open docs/_build/index.html"

bench: .venv/installed-bench
	$(BIN)/python -m benchmarks.fits
	$(BIN)/python -m benchmarks.noise_aware
	$(BIN)/python -m benchmarks.local
	$(BIN)/python -m benchmarks.paper_grid
	$(BIN)/python -m benchmarks.wide

bench-device: .venv/installed-gpu
	$(BIN)/python -m benchmarks.device

bench-data: .venv/installed-bench
	$(BIN)/python -m benchmarks.streaming
	$(BIN)/python -m benchmarks.scaling

fuzz: .venv/installed-dev
	$(BIN)/python -m tests.fuzz --mutations 500

# Hours of CPU: a suite that ended is not run again, until build/calibration is removed.
CALIBRATIONS := run rare checks leaning elicited losses audit contour local multiclass scores line \
  line_learners stratified_audit assisted_audit looked_up_classes stated_classes few_values planning_check
calibration: $(CALIBRATIONS:%=build/calibration/%.txt)

build/calibration/%.txt: .venv/installed-dev
	@mkdir -p $(@D)
	set -o pipefail; { time $(BIN)/python -m tests.calibration.$*; } 2>&1 | tee $@.part
	@mv $@.part $@

signals: .venv/installed-dev
	$(BIN)/python -m tests.signals.interrupts
	$(BIN)/python -m tests.signals.kills

.venv/installed: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(PIP) -e .
	touch $@

.venv/installed-%: .venv/installed
	$(PIP) -e '.[$*]'
	touch $@

# Tests of rows on a device run on torch's own processor code; this release comes without CUDA where
# an index has such a build.
.venv/installed-dev: .venv/installed
	$(PIP) -e '.[dev,gpu]' torch==2.13.0
	touch $@

.venv-floors/installed: pyproject.toml .venv/installed
	$(PIP) uv
	$(BIN)/uv venv --quiet --clear --python $(BIN)/python .venv-floors
	$(BIN)/uv pip install --quiet --python .venv-floors/bin/python --resolution lowest-direct \
	  -e '.[dev,dask,sklearn,web]'
	touch $@

clean:
	rm -rf docs/_build docs/api docs/gallery .venv .venv-floors build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
