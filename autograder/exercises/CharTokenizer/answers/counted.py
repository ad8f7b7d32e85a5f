"""A Counter's keys, sorted; translate tables both ways; the KeyError of a dictionary becomes a ValueError."""

from collections import Counter


class CharTokenizer:
    def __init__(self, text):
        counted = Counter(text)
        self.itos = dict(enumerate(sorted(counted.keys())))
        self.stoi = {c: i for i, c in self.itos.items()}

    vocab_size = property(lambda self: len(self.itos))

    def encode(self, string):
        try:
            return [self.stoi.__getitem__(c) for c in string]
        except KeyError as error:
            raise ValueError(f"unknown character {error.args[0]!r}") from error

    def decode(self, ids):
        pieces = []
        for i in ids:
            pieces.append(self.itos[int(i)])
        return "".join(pieces)
