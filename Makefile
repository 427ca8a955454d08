# One command each; `make site` is the first one to try. Everything stays inside this folder.
PYTHON ?= $(firstword $(shell command -v python3.11 python3.12 python3.13 python3 2>/dev/null))
BIN := .venv/bin
VLLM_ENV ?= .venv-vllm

.PHONY: help site serve check test fuzz test-live measure bench lock clean

help:        ## Show what there is.
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-10s %s\n", $$1, $$2}'

site: .venv/.site      ## Make the environment, build the site, say where to open it.
	@$(BIN)/dossier build
	@echo "Open site/index.html in a browser, or run: make serve"

serve: .venv/.site     ## Serve the site on http://127.0.0.1:8000/ and rebuild it on every change.
	@$(BIN)/dossier serve

check: .venv/.dev      ## Format, lint, types, tests without a browser, evidence.
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/pytest -m "not browser and not live"
	$(BIN)/dossier check evidence

test: .venv/.dev       ## Install what the tests need and run everything that needs no model server by hand.
	@sh tests/browser/install-chromium.sh
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/dossier check evidence
	$(BIN)/pytest -m "not live"

measure: .venv/.dev     ## Measure a small real server on this machine (two minutes), and build the site with the finding.
	$(BIN)/dossier run --local
	@$(BIN)/dossier build

test-live: .venv/.dev $(VLLM_ENV)/.ready   ## Run what needs a real vLLM (3.5 GB, on the CPU) and 200 kills; Linux on x86-64.
	DOSSIER_VLLM_ENV=$(VLLM_ENV) $(BIN)/pytest -m live

fuzz: .venv/.dev       ## Check damaged evidence, ten times as much of it as the tests do (minutes).
	FUZZ=10 $(BIN)/pytest tests/unit/test_fuzz_check.py

bench: .venv/.dev      ## Run the benchmarks (minutes); results are written down in benchmarks/results/.
	$(BIN)/python benchmarks/site.py

lock: .venv/.dev       ## Lock the versions anew.
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --no-header --no-annotate \
	  pyproject.toml --group build -o requirements/site.txt
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --no-header --no-annotate \
	  pyproject.toml --group build --group dev --extra runner --extra local -c requirements/site.txt -o requirements/dev.txt

	$(BIN)/uv pip compile --quiet --python-version 3.11 --python-platform x86_64-manylinux_2_28 --generate-hashes \
	  --no-emit-index-url --no-header --no-annotate --group vllm $(if $(WHEELS),--find-links $(WHEELS)) \
	  -o requirements/vllm.txt

clean:       ## Remove everything that was made here.
	rm -rf .venv .venv-vllm build site dist .mypy_cache .pytest_cache .ruff_cache .hypothesis

.venv/bin/python:
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed; set PYTHON=/path/to/python"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "$(PYTHON) is too old: Python 3.11 or newer is needed; set PYTHON=/path/to/python"; exit 1; }
	$(PYTHON) -m venv .venv

.venv/.site: requirements/site.txt pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/site.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

.venv/.dev: requirements/dev.txt pyproject.toml | .venv/.site
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	@touch $@

# vLLM wants torch 2.13.0+cpu: pip has to know an index or a folder that holds it (PIP_EXTRA_INDEX_URL, PIP_FIND_LINKS).
$(VLLM_ENV)/.ready: requirements/vllm.txt | .venv/bin/python
	$(BIN)/python -m venv $(VLLM_ENV)
	$(VLLM_ENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements/vllm.txt
	@touch $@
