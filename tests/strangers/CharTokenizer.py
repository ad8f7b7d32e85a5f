# %% keyerror: an unknown character is a KeyError; decode returns a list of characters
# expect: decode-gives-a-list, unknown-is-a-keyerror
class CharTokenizer:
    def __init__(self, text):
        chars = sorted(list(set(text)))
        self.vocab_size = len(chars)
        self.stoi = dict(zip(chars, range(len(chars))))
        self.itos = dict(zip(range(len(chars)), chars))

    def encode(self, string):
        ids = []
        for ch in string:
            ids.append(self.stoi[ch])
        return ids

    def decode(self, ids):
        return [self.itos[int(i)] for i in ids]

# %% unknown_skipped: unknown characters are skipped silently
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

# %% unsorted: the characters are not sorted; an unknown character is a KeyError
# expect: order-of-appearance, unknown-is-a-keyerror
class CharTokenizer:
    def __init__(self, text):
        self.chars = list(dict.fromkeys(text))
        self.vocab_size = len(self.chars)
        self.stoi = {ch: i for i, ch in enumerate(self.chars)}
        self.itos = {i: ch for i, ch in enumerate(self.chars)}

    def encode(self, s):
        return [self.stoi[c] for c in s]

    def decode(self, l):
        return "".join([self.itos[i] for i in l])
