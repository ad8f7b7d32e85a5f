"""A mapping that makes each value at its first use: one exercise's check needs one exercise's modules."""

from collections.abc import Callable, Iterable, Iterator, MutableMapping
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Lazily(MutableMapping[K, V]):
    """Maps keys, in their order, to what `make` makes of them; to iterate over the keys makes nothing."""

    def __init__(self, keys: Iterable[K], make: Callable[[K], V]) -> None:
        self.make = make
        self.keys_in_order = dict.fromkeys(keys)
        self.made: dict[K, V] = {}

    def __getitem__(self, key: K) -> V:
        if key not in self.keys_in_order:
            raise KeyError(key)
        if key not in self.made:
            self.made[key] = self.make(key)
        return self.made[key]

    def __setitem__(self, key: K, value: V) -> None:
        self.keys_in_order[key] = None
        self.made[key] = value

    def __delitem__(self, key: K) -> None:
        del self.keys_in_order[key]
        self.made.pop(key, None)

    def __contains__(self, key: object) -> bool:
        return key in self.keys_in_order

    def __iter__(self) -> Iterator[K]:
        return iter(self.keys_in_order)

    def __len__(self) -> int:
        return len(self.keys_in_order)
