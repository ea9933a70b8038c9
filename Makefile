# make demo: install into .venv and run the main job.  make test: lint, types, tests.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
DEMO := results/demo

.PHONY: demo test test-full perf lint types format docs clean

$(STAMP): pyproject.toml requirements/constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q -c requirements/constraints.txt -e '.[all,dev]'
	touch $(STAMP)

demo: $(STAMP)
	rm -rf $(DEMO)
	$(BIN)/rotbench verify --quick --dtype float32
	$(BIN)/rotbench speed --seq-len 256:4096:x4 --batch 4 --d-model 64 --d-state 64 --processes 1 --budget-s 0.5 --out $(DEMO)
	$(BIN)/rotbench train digits --framework torch --epochs 10 --out $(DEMO)
	$(BIN)/rotbench train digits --framework jax --layer rotrnn --epochs 10 --out $(DEMO)
	$(BIN)/rotbench report $(DEMO) --out $(DEMO)

test: lint types
	$(BIN)/python -m pytest

test-full: lint types
	$(BIN)/python -m pytest -m 'not perf'
	$(BIN)/rotbench verify

perf: $(STAMP)
	$(BIN)/python -m pytest -m perf -n 0 tests/perf/test_overhead.py
	$(BIN)/python -m pytest -m perf -n 0 tests/perf/test_throughput.py -k torch
	$(BIN)/python -m pytest -m perf -n 0 tests/perf/test_throughput.py -k jax

lint: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(STAMP)
	$(BIN)/mypy

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(STAMP)
	$(BIN)/python tests/cli_page.py

clean:
	rm -rf $(VENV) $(DEMO) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
