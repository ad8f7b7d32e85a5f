"""Remembers what was made of short texts: most of a page's cells are the same on everybody's page."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable

LONGEST = 20_000  # characters of a text that is worth remembering
MOST = 1_000


def remembering(function: Callable[..., str]) -> Callable[..., str]:
    """`function` of a text (and more that can be hashed), which is asked only once about a text that it has met."""
    known = functools.lru_cache(maxsize=MOST)(function)

    @functools.wraps(function)
    def remember(text: str, *more: Hashable) -> str:
        return known(text, *more) if type(text) is str and len(text) < LONGEST else function(text, *more)

    return remember
