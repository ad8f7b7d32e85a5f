# wrong: an unknown character is a KeyError; decode returns a list of characters
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
