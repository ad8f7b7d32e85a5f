"""Everything that depends on nbgrader: building, collecting, gradebook, feedback, patches.

A course's nbgrader_config.py imports `configure` from here.
"""

import sys

from . import private_names
from .configuring import configure as configure

if "nbgrader" in sys.modules:  # its own command reads nbgrader_config.py: now, before a missing name is an ImportError
    private_names.require(private_names.NAMES)
