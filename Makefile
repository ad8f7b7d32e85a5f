# The commands of the README: `make demo`, `make test`, `make quick`. Each does all of its set-up.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.ready

export PATH := $(CURDIR)/$(BIN):$(CURDIR)/$(VENV)/npm/node_modules/.bin:$(PATH)

.PHONY: setup demo test quick build matrix mutants seeds odd hostile fuzz kill-test desk-kills postgresql pictures clean

demo: setup
	$(BIN)/autograder demo

# one worker more than processors, since tests wait for other processes, too; the tests of a file stay together, since
# they share what is costly to make
WORKERS = $$(($$(nproc) + 1))
test: setup
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder --durations=20

# what takes about a minute, and needs no sandbox, nbgrader, cluster or browser; EXERCISE=name: with all of that exercise
QUICK := tests/test_imports.py tests/checks/test_runner.py tests/checks/test_source_text.py tests/submission \
  tests/sandbox/test_replies.py tests/grading/test_store.py tests/nbgrader/test_points.py \
  tests/exercises/test_originals.py $(wildcard tests/exercises/test_reference*.py)
quick: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python -m pytest $(QUICK)
	$(BIN)/python -m pytest tests/exercises/test_exercises.py \
	  -k "$(if $(EXERCISE),$(EXERCISE)] or $(EXERCISE)- or $(EXERCISE)/,causal_mask] or causal_mask- or causal_mask/)"

setup: $(STAMP) packages

build: setup
	$(BIN)/autograder build

# which check catches which mistake, as reports/matrix.md: of all exercises (some minutes), or of EXERCISE=name
matrix: $(STAMP)
	$(BIN)/python -m autograder.mistakes.matrix $(EXERCISE)

# right answers with one edit each, as reports/mutants.md: SAMPLE of each exercise, or of EXERCISE=name (all: hours)
SAMPLE := 20
mutants: setup
	$(BIN)/python benchmarks/mutants.py $(EXERCISE) --sample $(SAMPLE)

# the attacks, and the tables of what they came to
hostile: setup
	PYTHONPATH=tests $(BIN)/python tests/support/security.py

# every mistake rejected and named on other inputs, too
seeds: setup
	SEEDS=2,3,4 $(BIN)/python -m pytest tests/exercises/test_exercises.py -k rejected_and_named

# every kind of odd value that an answer may give, at all times, under all checks (an hour)
odd: setup
	ODD=1000 $(BIN)/python -m pytest tests/exercises/test_odd_answers.py

# ten thousand mangled notebooks, frames and answers of each kind, new ones at every run
fuzz: setup
	FUZZ=10000 $(BIN)/python -m pytest tests/grading/test_fuzz.py -s

# 200 kills of whatever takes part in grading a class
kill-test: setup
	KILLS=200 $(BIN)/python -m pytest tests/batch/test_kills.py -s -k whatever_is_killed

# 200 kills of the desk and of its workers, while hand-ins come
desk-kills: setup
	KILLS=200 $(BIN)/python -m pytest tests/desk/test_kills.py -s -k whatever_is_killed

# the tests that have a gradebook with theirs in PostgreSQL, and ten rounds of two heads that fill one at the same time
postgresql: setup
	GRADEBOOK=postgresql ROUNDS=10 $(BIN)/python -m pytest tests/nbgrader/test_postgres.py tests/nbgrader/test_nbgrader.py tests/batch/test_kills.py

# the pictures of the README, taken of a class of the demo
pictures: setup
	$(BIN)/python tests/support/pictures.py

# the lock files, when pyproject.toml has changed; needs uv (pip install uv)
.PHONY: lock
lock:
	PYTHONPATH=. $(PYTHON) tests/support/lock.py

# Only files with a known hash are installed, and nothing is built, which would run code that no hash covers. torch is the
# build for CPUs where the index has it, as PyTorch's does, and else PyPI's, with NVIDIA's libraries:
#   make demo TORCH_INDEX=https://download.pytorch.org/whl/cpu
LOCKED := -m pip install --quiet --no-deps --only-binary :all: --require-hashes
CPU_TORCH := $(LOCKED) $(if $(TORCH_INDEX),--index-url $(TORCH_INDEX)) --requirement torch-cpu.lock

# made again when the pinned packages change; an environment that broke half-way has no stamp and is made again too
$(STAMP): $(wildcard *.lock) pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' || { \
	  echo "Python 3.11, 3.12 or 3.13 is needed, and $(PYTHON) is none of them: name one, as in make demo PYTHON=python3.12" >&2; \
	  exit 1; }
	@echo "Making the environment $(VENV), once: some minutes, and 2 GB (7 GB where torch brings NVIDIA's libraries) ..."
	rm -rf $(VENV)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python $(LOCKED) --requirement requirements.lock --requirement requirements-dev.lock
	$(BIN)/python $(CPU_TORCH) $(if $(TORCH_INDEX),,2>/dev/null || { \
	  echo "No torch for CPUs in this index: taking PyPI's, with NVIDIA's libraries ..."; \
	  $(BIN)/python $(LOCKED) --requirement torch-cuda.lock; })
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	touch $(STAMP)

# what apt is asked for where it is missing: bubblewrap, without which grading refuses to start, and for the tests a
# PostgreSQL server, a browser and JupyterHub's proxy, without which some are skipped; they start their own server, so
# Debian's package shall not make one. The proxy is npm's, and goes into the environment.
test postgresql: SERVER = postgresql
test pictures: BROWSER = chromium chromium-driver
test: PROXY = configurable-http-proxy
.PHONY: packages
packages:
	@root=$$([ "$$(id -u)" = 0 ] || echo sudo -n); missing=; \
	command -v bwrap >/dev/null 2>&1 || missing="bubblewrap libseccomp2"; \
	[ -z "$(SERVER)" ] || ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || missing="$$missing $(SERVER)"; \
	[ -z "$(BROWSER)" ] || command -v chromedriver >/dev/null 2>&1 || missing="$$missing $(BROWSER)"; \
	[ -z "$(PROXY)" ] || command -v $(PROXY) npm >/dev/null 2>&1 || missing="$$missing npm"; \
	[ -z "$$missing" ] || $$root apt-get update -qq || true; \
	for package in $$missing; do \
	  echo "installing $$package"; \
	  if [ $$package = postgresql ]; then \
	    $$root sh -c 'cd /etc && mkdir -p postgresql-common && cd postgresql-common && [ -e createcluster.conf ] || \
	      echo "create_main_cluster = false" > createcluster.conf'; \
	  fi; \
	  $$root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$package >/dev/null \
	  || echo "$$package could not be installed: do it by hand (apt-get install $$package)"; \
	done; \
	[ -z "$(PROXY)" ] || command -v $(PROXY) >/dev/null 2>&1 || { \
	  echo "installing $(PROXY)"; \
	  npm install --silent --no-fund --no-audit --prefix $(VENV)/npm $(PROXY) >/dev/null \
	  || echo "$(PROXY) could not be installed: do it by hand (npm install $(PROXY))"; }

clean:
	rm -rf $(VENV) demo_course reports feedback autograded .autograder gradebook.db
