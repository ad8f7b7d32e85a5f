"""Starts a Grader: its sandbox starts while this process imports what grading needs, torch above all."""

from __future__ import annotations

import contextlib
import gc
from typing import TYPE_CHECKING

from ..errors import SandboxError
from ..sandbox.parent import WarmParent

if TYPE_CHECKING:  # it imports torch
    from .grader import Grader


def started_grader(device: str = "cpu", unsafe: bool = False) -> Grader:
    """A Grader whose sandbox is starting already.

    What is imported stays, so no garbage is looked for meanwhile, nor ever among it: that takes a sixth of the time.
    """
    parent = WarmParent(device=device, unsafe=unsafe)
    with contextlib.suppress(SandboxError):  # it will be raised when a child is asked for
        parent.launch()
    enabled = gc.isenabled()
    gc.disable()
    try:
        from .grader import Grader

        made = Grader(parent)
        gc.freeze()
    finally:
        if enabled:
            gc.enable()
    return made
