# Everything a newcomer needs is `make run` and `make test`. Both make their own venv with pinned packages.

PORT ?= 8000
GAMES ?= 1
PYTHON ?= python3
BIN := .venv/bin

.PHONY: run test test-web demo lint leaks scenarios chaos lock clean

run: .venv/run
	PORT=$(PORT) $(BIN)/gunicorn -c python:service.gunicorn_conf

test: .venv/dev
	$(BIN)/python -m pytest -n 2

test-web: .venv/web
	$(BIN)/python -m pytest -n 2 tests/web

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

lock: .venv/dev
	$(BIN)/uv pip compile -q --no-header --universal pyproject.toml -o requirements.txt
	$(BIN)/uv pip compile -q --no-header --universal --group dev pyproject.toml -o requirements-dev.txt
	$(BIN)/uv pip compile -q --no-header --universal --group dev --group web pyproject.toml -o requirements-web.txt

clean:
	rm -rf .venv

.venv/run: requirements.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install -q --disable-pip-version-check -r requirements.txt
	touch $@

.venv/dev: requirements-dev.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install -q --disable-pip-version-check -r requirements-dev.txt
	touch $@ .venv/run

.venv/web: requirements-web.txt .venv/dev
	$(BIN)/pip install -q --disable-pip-version-check -r requirements-web.txt
	touch $@
