"""Caches the results of functions of short texts: most cells of a page are the same for every student."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable

LONGEST = 20_000  # characters; longer texts are not cached
MOST = 1_000


def remembering(function: Callable[..., str]) -> Callable[..., str]:
    """`function` of a text (and more hashable arguments), with its results for short texts cached."""
    known = functools.lru_cache(maxsize=MOST)(function)

    @functools.wraps(function)
    def remember(text: str, *more: Hashable) -> str:
        return known(text, *more) if type(text) is str and len(text) < LONGEST else function(text, *more)

    return remember
