"""A sorted string, searched by halves; the size is a property."""

from bisect import bisect_left


class CharTokenizer:
    def __init__(self, text):
        self.alphabet = "".join(sorted(set(text)))

    @property
    def vocab_size(self):
        return len(self.alphabet)

    def _place(self, character):
        i = bisect_left(self.alphabet, character)
        if i == len(self.alphabet) or self.alphabet[i] != character:
            raise ValueError("unknown character: " + character)
        return i

    def encode(self, s: str) -> list[int]:
        return list(map(self._place, s))

    def decode(self, ids: list[int]) -> str:
        return "".join(map(self.alphabet.__getitem__, ids))
