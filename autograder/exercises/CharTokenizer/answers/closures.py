"""The two functions are made in the constructor; the unknown are found as a set."""


class CharTokenizer:
    def __init__(self, text):
        chars = sorted(list(dict.fromkeys(text)))
        number = dict(zip(chars, range(len(chars)), strict=True))
        self.vocab_size = len(number)

        def encode(string):
            unknown = set(string).difference(number)
            if unknown:
                raise ValueError("cannot encode " + ", ".join(sorted(unknown)))
            return [number[c] for c in string]

        def decode(ids):
            return "".join([chars[i] for i in ids])

        self.encode = encode
        self.decode = decode
