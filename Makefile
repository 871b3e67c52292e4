# Everything a newcomer needs is `make run` and `make test`. Both make their own venv with pinned packages.

PORT ?= 8000
GAMES ?= 1
A ?= hard
B ?= medium
SEATS ?= 2
VARIANT ?= paulista
MATCHES ?= 2000
HANDS ?= 10000
PYTHON ?= python3
BIN := .venv/bin
DEPLOY := .venv/deploy/bin

.PHONY: run test test-web demo lint leaks scenarios chaos arena hands clients test-clients bench bench-growth bench-profile bench-footprint capacity lock clean

run: .venv/run
	PORT=$(PORT) $(BIN)/gunicorn -c python:service.gunicorn_conf

test: .venv/dev
	$(BIN)/python -m pytest -n 2

test-web: .venv/web
	$(BIN)/python -m pytest -n 2 --dist worksteal tests/web

demo: .venv/dev
	$(BIN)/python -m tests.demo --games $(GAMES)

lint: .venv/dev .venv/deploy/done
	$(BIN)/ruff format --check .
	$(BIN)/ruff check --output-format concise .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/openapi-spec-validator openapi.yaml
	$(DEPLOY)/hadolint Dockerfile
	$(DEPLOY)/check-jsonschema -q --builtin-schema vendor.compose-spec compose.yaml
	mkdir -p build
	for overlay in dev prod; do $(BIN)/kubectl kustomize k8s/overlays/$$overlay > build/$$overlay.yaml || exit; done
	$(DEPLOY)/kubernetes-validate --strict --quiet --no-warn build/dev.yaml build/prod.yaml
	$(DEPLOY)/python -m tests.deploy.operator_schema build/prod.yaml
	$(DEPLOY)/checkov --quiet --compact --skip-download --framework kubernetes -f build/dev.yaml build/prod.yaml
	$(DEPLOY)/checkov --quiet --compact --skip-download --framework dockerfile -f Dockerfile

scenarios: .venv/dev
	$(BIN)/python -m tests.scenario_runner $(FILE)

leaks: .venv/dev
	$(BIN)/python -m tests.leaks.run

chaos: .venv/dev
	$(BIN)/python -m tests.chaos $(NAME)

arena: .venv/dev
	$(BIN)/python -m tests.arena $(A) $(B) --seats $(SEATS) --variant $(VARIANT) --pairs $(MATCHES) $(if $(JOBS),--jobs $(JOBS))

hands: .venv/dev
	$(BIN)/python -m tests.bots --hands $(HANDS) $(if $(JOBS),--jobs $(JOBS))

clients: .venv/clients
	$(BIN)/python -m tests.clients.generate

test-clients: clients
	$(BIN)/python -m pytest -n 2 tests/clients

bench: .venv/dev .venv/bench benchmarks/boardgame/node_modules
	$(BIN)/python -m benchmarks $(if $(QUICK),--quick)

bench-growth: .venv/dev
	$(BIN)/python -m benchmarks.growth

bench-profile: .venv/dev
	$(BIN)/python -m benchmarks.layers

bench-footprint: .venv/dev
	$(BIN)/python -m benchmarks.footprint

capacity: .venv/dev
	$(BIN)/python -m benchmarks.capacity

lock: .venv/dev .venv/clients
	$(BIN)/uv pip compile -q --no-header --universal pyproject.toml -o requirements.txt
	$(BIN)/uv pip compile -q --no-header --universal --group dev pyproject.toml -o requirements-dev.txt
	$(BIN)/uv pip compile -q --no-header --universal --group deploy -o requirements-deploy.txt
	$(BIN)/uv pip compile -q --no-header --universal --group clients -c requirements-dev.txt -o requirements-clients.txt
	$(BIN)/uv pip compile -q --no-header --universal --group pyproject.toml:bench -o benchmarks/requirements.txt
	$(BIN)/uv pip compile -q --no-header --universal --group dev --group web pyproject.toml -o requirements-web.txt
	cd clients/typescript && PATH=$(CURDIR)/$(BIN):$$PATH npm run lock
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

.venv/deploy/done: requirements-deploy.txt .venv/dev
	$(BIN)/uv venv -q --clear --python $(BIN)/python .venv/deploy
	$(BIN)/uv pip install -q --system-certs --python .venv/deploy -r requirements-deploy.txt
	touch $@

.venv/clients: .venv/dev requirements-clients.txt
	$(BIN)/pip install -q --disable-pip-version-check -r requirements-clients.txt
	touch $@

.venv/bench: benchmarks/requirements.txt
	$(PYTHON) -m venv $@
	$@/bin/pip install -q --disable-pip-version-check -r $<
	touch $@

benchmarks/boardgame/node_modules: benchmarks/boardgame/package-lock.json
	cd benchmarks/boardgame && npm ci --silent
	touch $@

.venv/web: requirements-web.txt .venv/dev
	$(BIN)/pip install -q --disable-pip-version-check -r requirements-web.txt
	touch $@
