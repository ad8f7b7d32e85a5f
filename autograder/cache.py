"""Tables that hold what was met last, and forget the rest."""

from collections import OrderedDict
from collections.abc import Hashable
from typing import TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


def keep(table: OrderedDict[K, V], key: K, value: V, most: int) -> V:
    """Put a value into an OrderedDict as the latest of at most `most`; those met longest ago are forgotten."""
    table[key] = value
    table.move_to_end(key)
    while len(table) > most:
        table.popitem(last=False)
    return value
