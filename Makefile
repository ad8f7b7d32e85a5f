# The commands of the README: `make demo`, `make test`, `make everything`, `make quick`. Each does all of its set-up.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.ready
DESK := $(VENV)/.desk
TOOLS := $(VENV)/.tools
COURSES := $(VENV)/.courses

# empty is unset: what Python compiles is kept
export PYTHONDONTWRITEBYTECODE :=
export PATH := $(CURDIR)/$(BIN):$(CURDIR)/$(VENV)/npm/node_modules/.bin:$(PATH)

.PHONY: setup kernels demo desk test everything quick lowest newest build storyteller author-page site matrix pairs names mutants seeds odd hostile gpu fuzz kill-test desk-kills postgresql pictures clean

demo: $(STAMP) packages
	$(BIN)/autograder demo

# a desk with a made-up class handing in
desk: $(DESK) packages
	$(BIN)/autograder desk --demo

# one worker more than processors, since tests wait for other processes, too
PYTEST = $(BIN)/python -m pytest -n $$(($$(nproc) + 1))
# all of the kit that is not slow, and a sample of the course, which its first line names: tests/support/sample.py
test: setup kernels
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(PYTEST) --sample --durations=20

# all tests; SEEDS: of the inputs that all mistakes are rejected on, as at night
everything: setup kernels
	$(PYTEST) --durations=40

# everything with the lowest versions that pyproject.toml promises, in an environment of its own (Python 3.11). uv finds
# them when the environment is made: the repository has no lock file of them
LOWEST := .venv-lowest
lowest: packages $(LOWEST)/.ready
	PATH=$(CURDIR)/$(LOWEST)/bin:$$PATH $(subst $(BIN),$(LOWEST)/bin,$(PYTEST))

$(LOWEST)/.ready: locks/desk.lock locks/dev.lock pyproject.toml
	rm -rf $(LOWEST)
	$(PYTHON) -m venv $(LOWEST)
	$(LOWEST)/bin/python -m pip install --quiet --only-binary :all: uv
	PATH=$(CURDIR)/$(LOWEST)/bin:$$PATH PYTHONPATH=. $(LOWEST)/bin/python tests/support/lock.py --lowest $(LOWEST)/lowest.lock
	$(LOWEST)/bin/python $(LOCKED) --requirement $(LOWEST)/lowest.lock
	$(LOWEST)/bin/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	touch $@

# everything with the newest versions that pyproject.toml admits, in an environment of its own without a lock, which is
# brought up to date each time; says first what has moved from the lock files. There a deprecated call of the kit's own,
# or of a test's, is an error. Or FILES="tests/test_check.py …"
NEWEST := .venv-newest
NEWER := -m pip install --quiet --upgrade --upgrade-strategy eager --only-binary :all:
newest: packages
	[ -x $(NEWEST)/bin/python ] || $(PYTHON) -m venv $(NEWEST)
	$(NEWEST)/bin/python $(NEWER) pip setuptools
	$(NEWEST)/bin/python $(NEWER) --no-build-isolation --editable ".[cluster,postgresql,kernels,desk,dev]"
	$(NEWEST)/bin/python tests/support/moved.py
	PYTHONPATH=tests/support PATH=$(CURDIR)/$(NEWEST)/bin:$$PATH \
	  $(subst $(BIN),$(NEWEST)/bin,$(PYTEST)) -p deprecations $(FILES)

# About a minute: style, and some tests of every part; EXERCISE=name: with all of that exercise. It leaves out the attacks
# and the walls between processes (tests/hostile, most of tests/sandbox), fuzzing, kills, clusters, PostgreSQL, browsers,
# nbgrader's commands, kernels, whole weeks and demos, types, lessons that are run, and all exercises but one: `make test`.
QUICK := tests/test_imports.py tests/test_outside.py tests/test_pages.py \
  tests/test_new.py::test_a_name_that_cannot_be_is_refused \
  tests/test_demo.py::test_a_student_of_a_page_is_read tests/test_demo.py::test_every_expected_mistake_is_in_the_bank \
  tests/submission tests/checks/test_runner.py tests/checks/test_source_text.py \
  tests/mistakes/test_bank.py tests/mistakes/test_evidence.py \
  tests/sandbox/test_replies.py $(addprefix tests/sandbox/test_sandbox.py::test_it_,computes may_not) \
  tests/sandbox/test_sandbox.py::test_an_endless_loop_is_interrupted_at_a_line_that_is_told_and_the_next_cell_runs \
  tests/grading/test_store.py tests/grading/test_grader.py::test_feedback_gets_the_outputs \
  tests/report/test_outcome_text.py tests/report/test_formulas.py \
  tests/nbgrader/test_points.py tests/nbgrader/test_safe_markdown.py \
  tests/batch/test_naming.py tests/batch/test_run.py tests/lms/test_roster_and_exports.py \
  tests/watch/test_changes.py tests/watch/test_screen.py tests/desk/test_settings.py tests/desk/test_links.py \
  tests/lessons/test_all_lessons.py::test_the_rules_and_the_drawing_are_the_same_in_each \
  tests/exercises/test_originals.py $(wildcard tests/exercises/test_reference*.py)
DEAR := tests/grading/test_store.py::test_results_with_wrong_types tests/batch/test_naming.py::test_from_a_group \
  tests/grading/test_store.py::test_latest_verdicts_with_wrong_types
ONE := $(or $(EXERCISE),causal_mask)
quick: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python -m pytest -n $$(nproc) $(QUICK) $(addprefix --deselect=,$(DEAR))
	$(BIN)/python -m pytest tests/exercises -k "$(ONE)] or $(ONE)- or $(ONE)/"

# all that tests and the other commands here need; `make demo` needs less
setup: $(TOOLS) $(COURSES) packages

build: $(STAMP) packages kernels
	$(BIN)/autograder build

# trains the storyteller of lessons 04, 07, 08 and 09 (some six minutes of one core), measures it, and puts it into the
# notebooks; then look through the numbers that their texts and docs/storyteller.md name
storyteller: setup
	$(BIN)/python -m storyteller.train
	$(BIN)/python -m storyteller.measure
	$(BIN)/python -m storyteller.cells
	$(BIN)/autograder build

# docs/checks.md, of the docstrings of what authors of exercises import
author-page: setup
	PYTHONPATH=tests:tests/support $(BIN)/python tests/support/author_page.py

# the documentation as a site, site/index.html, by mkdocs.yml, in an environment of its own. A link or an anchor that leads
# nowhere is an error (with --quiet, --strict would miss it). Links to files that are no pages lead to
# REPOSITORY=https://…, and without it are plain text
SITE := .venv-site
site: $(SITE)/.ready
	REPOSITORY=$(REPOSITORY) NO_MKDOCS_2_WARNING=1 $(SITE)/bin/python -m mkdocs build --strict

$(SITE)/.ready: locks/site.lock
	rm -rf $(SITE)
	$(PYTHON) -m venv $(SITE)
	$(SITE)/bin/python $(LOCKED) --requirement locks/site.lock
	touch $@

# which check catches which mistake, as reports/matrix.md: of all exercises (some minutes), or of EXERCISE=name
matrix: $(STAMP) kernels
	$(BIN)/python -m autograder.mistakes.matrix $(EXERCISE)

# all pairs of each exercise's mistakes, under limits: which of them run away (hours), or of NN=03
pairs: $(STAMP) kernels
	$(BIN)/autograder doctor --pairs $(NN)

# what the wrong answers of tests/strangers are named, and how often rightly: of all, or of EXERCISE=name; SEED=n repeats
names: setup kernels
	$(BIN)/python tests/support/strangers.py $(if $(EXERCISE),--exercise $(EXERCISE)) $(if $(SEED),--seed $(SEED))

# right answers with one edit each, as reports/mutants.md: SAMPLE of each exercise, or of EXERCISE=name (all: hours)
SAMPLE := 20
mutants: setup kernels
	$(BIN)/python benchmarks/mutants.py $(EXERCISE) --sample $(SAMPLE)

# runs the attacks; how each ended, as reports/attacks.md, and the short tables of docs/security.md
hostile: setup kernels
	PYTHONPATH=tests $(BIN)/python tests/support/security.py

# where there is a GPU: the checks on it, in the sandbox and in all styles, and the attacks with its driver in reach
gpu: setup kernels
	HOSTILE_DEVICE=cuda $(BIN)/python -m pytest tests/sandbox/test_gpu.py tests/sandbox/test_hostile.py -rs

# every mistake rejected and named on other inputs, too
seeds: setup kernels
	SEEDS=2,3,4 $(BIN)/python -m pytest tests/exercises/test_mistakes.py

# every kind of odd value that an answer may give, at all times, under all checks (an hour)
odd: setup kernels
	ODD=1000 $(BIN)/python -m pytest tests/exercises/test_odd_answers.py

# ten thousand mangled notebooks, frames and answers of each kind, new ones at every run
fuzz: setup
	FUZZ=10000 $(BIN)/python -m pytest tests/grading/test_fuzz.py -s

# 200 kills of whatever takes part in grading a class
kill-test: setup
	KILLS=200 $(BIN)/python -m pytest tests/batch/test_kills.py -s -k whatever_is_killed

# 200 kills of the desk and of its workers, while hand-ins come
desk-kills: setup
	KILLS=200 $(BIN)/python -m pytest tests/desk/test_desk_kills.py -s -k whatever_is_killed

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
CPU_TORCH := $(LOCKED) $(if $(TORCH_INDEX),--index-url $(TORCH_INDEX)) --requirement locks/torch-cpu.lock

# made again when the pinned packages change; an environment that broke half-way has no stamp and is made again too
$(STAMP): locks/requirements.lock locks/torch-cpu.lock locks/torch-cuda.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 15))' || { \
	  echo "Python 3.11, 3.12, 3.13 or 3.14 is needed, and $(PYTHON) is none of them: name one, as in make demo PYTHON=python3.12" >&2; \
	  exit 1; }
	@echo "Making the environment $(VENV), once: some minutes, and 1.4 GB (6.5 GB where torch brings NVIDIA's libraries) ..."
	rm -rf $(VENV)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python $(LOCKED) --requirement locks/requirements.lock
	$(BIN)/python $(CPU_TORCH) $(if $(TORCH_INDEX),,2>/dev/null || { \
	  echo "No torch for CPUs in this index: taking PyPI's, with NVIDIA's libraries ..."; \
	  $(BIN)/python $(LOCKED) --requirement locks/torch-cuda.lock; })
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	touch $(STAMP)

# on top of it, what only a desk needs, and then what only tests, clusters and PostgreSQL need
$(DESK): locks/desk.lock $(STAMP)
	$(BIN)/python $(LOCKED) --requirement locks/desk.lock
	touch $@

$(TOOLS): locks/cluster.lock locks/dev.lock $(DESK)
	@echo "Adding what only tests need to $(VENV), once ..."
	$(BIN)/python $(LOCKED) --requirement locks/cluster.lock --requirement locks/dev.lock
	touch $@

# the example of a course that is a package: `autograder new course --from linalg`
$(COURSES): courses/linalg/pyproject.toml $(STAMP)
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable courses/linalg
	touch $@

# Triton, which lesson 11 needs and nothing else: 200 MB to download, 700 MB of disk. Without it that lesson is left out, and
# each command says so. `make lowest` has the one that its torch brings.
KERNELS := $(VENV)/.kernels
kernels: $(KERNELS)
$(KERNELS): locks/kernels.lock $(STAMP)
	@echo "Adding Triton to $(VENV), once, for lesson 11 ..."
	$(BIN)/python $(LOCKED) --requirement locks/kernels.lock
	touch $@

# what apt is asked for where it is missing: bubblewrap, without which grading refuses to start, and for the tests a
# PostgreSQL server, a browser and JupyterHub's proxy, without which some are skipped; they start their own server, so
# Debian's package shall not make one. The proxy is npm's, and goes into the environment.
test everything lowest newest postgresql: SERVER = postgresql
test everything lowest newest pictures: BROWSER = chromium chromium-driver
test everything lowest newest: PROXY = configurable-http-proxy
.PHONY: packages
packages:
	@root=$$([ "$$(id -u)" = 0 ] || echo sudo -n); missing=; \
	command -v bwrap >/dev/null 2>&1 || missing="bubblewrap libseccomp2"; \
	[ -z "$(SERVER)" ] || ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || missing="$$missing $(SERVER)"; \
	[ -z "$(BROWSER)" ] || command -v chromedriver >/dev/null 2>&1 || missing="$$missing $(BROWSER)"; \
	[ -z "$(PROXY)" ] || command -v $(PROXY) >/dev/null 2>&1 || command -v npm >/dev/null 2>&1 \
	|| missing="$$missing npm"; \
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
	rm -rf $(VENV) $(LOWEST) $(NEWEST) $(SITE) site demo_course reports feedback autograded .autograder gradebook.db
