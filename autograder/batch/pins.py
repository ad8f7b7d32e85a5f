"""The packages that a lock file pins, with their hashes, and those of them that some packages need."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

NAME = re.compile(r"[a-z0-9][a-z0-9-]*(?===)")
HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")
VIA = re.compile(r"^ +#(?: via)? +([a-z0-9-]+)(?: .*)?$", re.MULTILINE)


@dataclass(frozen=True)
class Pin:
    """A package as a lock file pins it: its lines, and the packages because of which it is there."""

    name: str
    text: str
    needed_by: frozenset[str]

    @property
    def hashes(self) -> frozenset[str]:
        """The hashes of the files that may be installed."""
        return frozenset(HASH.findall(self.text))


def read(text: str) -> list[Pin]:
    """The pins of a lock file as uv writes it: a package's line, its hashes, and comments that say what needs it."""
    pins = []
    for entry in re.split(r"^(?=[a-z0-9])", text, flags=re.MULTILINE):
        if found := NAME.match(entry):
            pins.append(Pin(found[0], entry, frozenset(VIA.findall(entry))))
    return pins


def needed(pins: Iterable[Pin], packages: Iterable[str]) -> list[Pin]:
    """The pins of these packages, and of all that they need."""
    pins, wanted = list(pins), set(packages)
    while more := {pin.name for pin in pins if pin.needed_by & wanted} - wanted:
        wanted |= more
    return [pin for pin in pins if pin.name in wanted]
