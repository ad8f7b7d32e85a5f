# The two commands of the README: `make demo` and `make test`. Each does all of its set-up.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.ready

export PATH := $(CURDIR)/$(BIN):$(PATH)

.PHONY: setup demo test build matrix hostile clean

demo: setup
	$(BIN)/autograder demo

test: setup
	$(BIN)/python -m pytest

setup: $(STAMP) bubblewrap

build: setup
	$(BIN)/autograder build

# which check catches which misconception
matrix: setup
	$(BIN)/python -m autograder.misconceptions.matrix | tee docs/matrix.md

# the attacks, and the tables of what they came to
hostile: setup
	$(BIN)/python tests/security.py

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
