# wrong: unknown characters are skipped silently
# expect: unknown-dropped
class CharTokenizer:
    def __init__(self, text):
        self.alphabet = "".join(sorted(set(text)))
        self.vocab_size = len(self.alphabet)

    def encode(self, string):
        return [self.alphabet.index(c) for c in string if c in self.alphabet]

    def decode(self, ids):
        out = ""
        for i in ids:
            out += self.alphabet[i]
        return out
