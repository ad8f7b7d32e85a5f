"""Starts a Grader: the sandbox starts while this process imports what grading needs, above all torch."""

from __future__ import annotations

import contextlib
import gc
import os
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import SandboxError, UsageError
from ..sandbox.parent import WarmParent
from ..verdict import FULL

if TYPE_CHECKING:  # it imports torch
    from .apart import GraderApart
    from .ledger import Ledger

COSTS = "AUTOGRADER_COSTS"  # says where to write what grading costs


def started_grader(device: str = "cpu", sandbox: str = FULL, learnt: Path | None = None) -> GraderApart:
    """A Grader with a sandbox, of that level, that is already starting. `learnt` is as for a Grader.

    It grades in a process apart, which ends instead of this one, whatever it tries.

    Imported modules stay in memory, so the garbage collector is off during the imports and never scans them later:
    it would take a sixth of the time.

    Raises UsageError if what grading costs cannot be written where AUTOGRADER_COSTS says.
    """
    parent = WarmParent(device=device, level=sandbox)
    with contextlib.suppress(SandboxError):  # it is raised again when a child is requested
        parent.launch()
    enabled = gc.isenabled()
    gc.disable()
    try:
        from .apart import GraderApart

        made = GraderApart(parent, learnt, _ledger())
        gc.freeze()
    except UsageError:
        parent.close()
        raise
    finally:
        if enabled:
            gc.enable()
    return made


def wants_costs() -> bool:
    """Whether somebody wants to know what grading costs."""
    return os.environ.get(COSTS, "") not in ("", "0")


def _ledger() -> Ledger | None:
    """What counts the costs of grading, where AUTOGRADER_COSTS says; None if it says nothing. Raises UsageError."""
    if not wants_costs():
        return None
    from .ledger import Ledger

    value = os.environ[COSTS]
    try:
        return Ledger(None if value == "1" else Path(value).absolute())
    except OSError as error:
        raise UsageError(
            f"{COSTS} names {value!r}, which cannot be written ({error.strerror}): name another file, or 1 for"
            " standard error."
        ) from None
