"""No blocks: tokens one by one, which a fork shares, and a number that looks like theirs."""

import torch


class PagedCache:
    def __init__(self, num_blocks, block_size):
        if num_blocks < 1 or block_size < 1:
            raise ValueError("sizes below 1")
        self.block_size, self.texts = block_size, {}

    @property
    def used(self):
        return sum(-(-len(tokens) // self.block_size) for tokens in self.texts.values())

    def append(self, text, keys, values):
        new = [(keys[:, i].clone(), values[:, i].clone()) for i in range(keys.shape[1])]
        self.texts[text] = [*self.texts.get(text, ()), *new]

    def read(self, text):
        return tuple(torch.stack(parts, dim=1) for parts in zip(*self.texts[text]))

    def fork(self, text, new):
        tokens = self.texts[text]
        if new in self.texts:
            raise ValueError(f"{new} is taken")
        self.texts[new] = tokens

    def free(self, text):
        del self.texts[text]
