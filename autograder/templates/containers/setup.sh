#!/usr/bin/env bash
# Gradescope runs this once, as root, when it makes the image of the autograder: Python's packages, for CPUs.
set -euo pipefail

export DEBIAN_FRONTEND=noninteractive
apt-get update
apt-get install -y --no-install-recommends ca-certificates libseccomp2 python3 python3-venv
python3 -c 'import sys; sys.exit(sys.version_info < (3, 10) and "Python 3.10 or later is needed: choose a newer base image.")'

umask 022 # student code runs as another user, who has to read the packages
python3 -m venv /opt/autograder
/opt/autograder/bin/pip install --no-cache-dir ${PIP_INDEX---extra-index-url https://download.pytorch.org/whl/cpu} \
  --requirement /autograder/source/requirements.txt

# what is hidden is kept from other users, too
cd /autograder/source
chmod -R u+rwX,go-rwx course kit/autograder/exercises kit/autograder/checks kit/autograder/mistakes
