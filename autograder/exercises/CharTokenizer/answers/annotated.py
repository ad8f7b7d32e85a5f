"""Type hints all over, helpers outside the class, a named tuple for the two tables; it prints and takes the time."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Tables(NamedTuple):
    to_id: dict[str, int]
    to_character: tuple[str, ...]


def tables_of(text: str) -> Tables:
    characters: tuple[str, ...] = tuple(sorted(frozenset(text)))
    return Tables(dict(zip(characters, range(len(characters)), strict=True)), characters)


def unknown_in(string: Iterable[str], tables: Tables) -> list[str]:
    return [c for c in string if c not in tables.to_id]


class CharTokenizer:
    tables: Tables
    vocab_size: int

    def __init__(self, text: str) -> None:
        start = time.perf_counter()
        self.tables = tables_of(text)
        self.vocab_size = len(self.tables.to_character)
        print(f"{self.vocab_size} characters found in {time.perf_counter() - start:.6f} s")

    def encode(self, string: str) -> List[Int[n]]:  # noqa: F821  names of a package that is not there
        if unknown := unknown_in(string, self.tables):
            raise ValueError(f"not in the text: {unknown[0]}")
        return [self.tables.to_id[c] for c in string]

    def decode(self, ids: Sequence[int]) -> str:
        return "".join(self.tables.to_character[i] for i in ids)

    def __len__(self) -> int:
        return self.vocab_size
