"""Two dictionaries, as notebook 003 has them."""


class CharTokenizer:
    def __init__(self, text):
        chars = sorted(set(text))
        self.vocab_size = len(chars)
        self.stoi = {ch: i for i, ch in enumerate(chars)}
        self.itos = {i: ch for i, ch in enumerate(chars)}

    def encode(self, string):
        for ch in string:
            if ch not in self.stoi:
                raise ValueError(f"the text has no {ch!r}")
        return [self.stoi[ch] for ch in string]

    def decode(self, ids):
        return "".join(self.itos[i] for i in ids)
