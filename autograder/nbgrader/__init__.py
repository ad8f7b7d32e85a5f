"""Everything that depends on nbgrader: building, collecting, gradebook, feedback, patches."""

import sys

from . import private_names

if "nbgrader" in sys.modules:  # its own command reads nbgrader_config.py: now, before a missing name is an ImportError
    private_names.require(private_names.NAMES)
