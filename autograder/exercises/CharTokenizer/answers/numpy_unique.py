"""Code points in NumPy, turned into plain numbers at the end."""

import numpy as np


class CharTokenizer:
    def __init__(self, text):
        self.codes = np.unique(np.array([ord(c) for c in text], dtype=np.int64))
        self.vocab_size = int(self.codes.size)

    def encode(self, text):
        wanted = np.array([ord(c) for c in text], dtype=np.int64)
        known = np.isin(wanted, self.codes)
        if not known.all():
            missing = sorted({chr(c) for c in wanted[~known]})
            raise ValueError(f"unknown: {' '.join(missing)}")
        return np.searchsorted(self.codes, wanted).tolist()

    def decode(self, ids):
        return "".join(chr(self.codes[i]) for i in ids)
