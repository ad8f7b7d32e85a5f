"""Starts a Grader: the sandbox starts while this process imports what grading needs, above all torch."""

from __future__ import annotations

import contextlib
import gc
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import SandboxError
from ..sandbox.parent import WarmParent
from ..verdict import FULL

if TYPE_CHECKING:  # it imports torch
    from .apart import GraderApart


def started_grader(device: str = "cpu", sandbox: str = FULL, learnt: Path | None = None) -> GraderApart:
    """A Grader with a sandbox, of that level, that is already starting. `learnt` is as for a Grader.

    It grades in a process apart, which ends instead of this one, whatever it tries.

    Imported modules stay in memory, so the garbage collector is off during the imports and never scans them later:
    it would take a sixth of the time.
    """
    parent = WarmParent(device=device, level=sandbox)
    with contextlib.suppress(SandboxError):  # it is raised again when a child is requested
        parent.launch()
    enabled = gc.isenabled()
    gc.disable()
    try:
        from .apart import GraderApart

        made = GraderApart(parent, learnt)
        gc.freeze()
    finally:
        if enabled:
            gc.enable()
    return made
