# The two commands of the README: `make demo` and `make test`. Each does all of its set-up.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.ready

export PATH := $(CURDIR)/$(BIN):$(PATH)

.PHONY: setup demo test build matrix seeds hostile fuzz kill-test clean

demo: setup
	$(BIN)/autograder demo

# one worker per processor; the tests of a file stay together, since they share what is costly to make
test: setup
	$(BIN)/python -m pytest -n logical --dist loadfile --no-loadscope-reorder --durations=20

setup: $(STAMP) bubblewrap

build: setup
	$(BIN)/autograder build

# which check catches which misconception
matrix: setup
	$(BIN)/python -m autograder.misconceptions.matrix | tee docs/matrix.md

# the attacks, and the tables of what they came to
hostile: setup
	$(BIN)/python tests/security.py

# every misconception rejected and named on other inputs, too
seeds: setup
	SEEDS=2,3,4 $(BIN)/python -m pytest tests/test_graders.py -k rejected_and_named

# ten thousand mangled notebooks, frames and answers of each kind, new ones at every run
fuzz: setup
	FUZZ=10000 $(BIN)/python -m pytest tests/test_fuzz.py -s

# 200 kills of whatever takes part in grading a class
kill-test: setup
	KILLS=200 $(BIN)/python -m pytest tests/test_kills.py -s -k whatever_is_killed

# made anew when the pinned packages change; an environment that broke half-way has no stamp and is made anew too
$(STAMP): requirements.lock pyproject.toml
	rm -rf $(VENV)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --requirement requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	touch $(STAMP)

# grading refuses to start without it and says so; where apt and the right to use it are there, it is installed
.PHONY: bubblewrap
bubblewrap:
	@command -v bwrap >/dev/null 2>&1 || { \
	  echo "installing bubblewrap"; \
	  if [ "$$(id -u)" = 0 ]; then apt-get update -qq && apt-get install -y -qq bubblewrap libseccomp2; \
	  else sudo -n apt-get update -qq && sudo -n apt-get install -y -qq bubblewrap libseccomp2; fi; } \
	|| echo "bubblewrap could not be installed: install it by hand to grade (apt-get install bubblewrap)"

clean:
	rm -rf $(VENV) demo_course reports feedback autograded .autograder gradebook.db
