#!/usr/bin/env bash
# Gradescope runs this once, as root, when it makes the image of the autograder: Python's packages, for CPUs.
set -euo pipefail

export DEBIAN_FRONTEND=noninteractive
apt-get update
apt-get install -y --no-install-recommends ca-certificates libseccomp2 python3 python3-venv
python=python3
if python3 -c 'import sys; sys.exit(sys.version_info >= (3, 11))'; then # Ubuntu 22.04's own is 3.10, and it has 3.11, too
  python=python3.11
  apt-get install -y --no-install-recommends python3.11 python3.11-venv
fi

umask 022 # student code runs as another user, who has to read the packages
"$python" -m venv /opt/autograder
install() { # only files with a known hash, and nothing that would have to be built
  /opt/autograder/bin/pip install --no-cache-dir --no-deps --only-binary :all: --require-hashes "$@"
}
install --requirement /autograder/source/requirements.lock
install --index-url "${TORCH_INDEX-https://download.pytorch.org/whl/cpu}" --requirement /autograder/source/torch-cpu.lock

# what is hidden is kept from other users, too
cd /autograder/source
chmod -R u+rwX,go-rwx course kit/autograder/exercises kit/autograder/checks kit/autograder/mistakes
