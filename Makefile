# Everything a newcomer needs is `make run` and `make test`. Both make their own venv with pinned packages.

PORT ?= 8000
GAMES ?= 1
PYTHON ?= python3
BIN := .venv/bin

.PHONY: run test demo lint leaks scenarios chaos bench bench-growth bench-profile lock clean

run: .venv/run
	PORT=$(PORT) $(BIN)/gunicorn -c python:service.gunicorn_conf

test: .venv/dev
	$(BIN)/python -m pytest -n 2

demo: .venv/dev
	$(BIN)/python -m tests.demo --games $(GAMES)

lint: .venv/dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check --output-format concise .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/openapi-spec-validator openapi.yaml

scenarios: .venv/dev
	$(BIN)/python -m tests.scenario_runner $(FILE)

leaks: .venv/dev
	$(BIN)/python -m tests.leaks.run

chaos: .venv/dev
	$(BIN)/python -m tests.chaos $(NAME)

bench: .venv/dev .venv/bench benchmarks/boardgame/node_modules
	$(BIN)/python -m benchmarks $(if $(QUICK),--quick)

bench-growth: .venv/dev
	$(BIN)/python -m benchmarks.growth

bench-profile: .venv/dev
	$(BIN)/python -m benchmarks.layers

lock: .venv/dev
	$(BIN)/uv pip compile -q --no-header --universal pyproject.toml -o requirements.txt
	$(BIN)/uv pip compile -q --no-header --universal --group dev pyproject.toml -o requirements-dev.txt
	$(BIN)/uv pip compile -q --no-header --universal --group pyproject.toml:bench -o benchmarks/requirements.txt
	cd benchmarks/boardgame && npm install --silent --package-lock-only && node without-urls.cjs

clean:
	rm -rf .venv benchmarks/boardgame/node_modules

.venv/run: requirements.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install -q --disable-pip-version-check -r requirements.txt
	touch $@

.venv/dev: requirements-dev.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install -q --disable-pip-version-check -r requirements-dev.txt
	touch $@ .venv/run

.venv/bench: benchmarks/requirements.txt
	$(PYTHON) -m venv $@
	$@/bin/pip install -q --disable-pip-version-check -r $<
	touch $@

benchmarks/boardgame/node_modules: benchmarks/boardgame/package-lock.json
	cd benchmarks/boardgame && npm ci --silent
	touch $@
