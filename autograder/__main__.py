"""`python -m autograder` is the command `autograder`."""

import sys

from .cli import main

sys.exit(main())
