import torch

print("ids by the million")

class CharTokenizer:
    def __init__(self, text):
        self.vocab_size = len(set(text))

    def encode(self, text):
        return torch.zeros(2**23, dtype=torch.uint8)

    def decode(self, ids):
        return torch.zeros(2**20)
