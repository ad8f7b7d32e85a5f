from dataclasses import dataclass, field

import torch


@dataclass
class Text:
    table: list = field(default_factory=list)
    length: int = 0


class PagedCache:
    """A block is held by the tables in which it is; nothing else is counted."""

    def __init__(self, num_blocks, block_size):
        for size in (num_blocks, block_size):
            if size < 1:
                raise ValueError(f"{size} is below 1")
        self.num_blocks, self.block_size, self.texts, self.blocks = num_blocks, block_size, {}, None

    def holders(self, block):
        return sum(block in text.table for text in self.texts.values())

    def empty(self):
        held = {block for text in self.texts.values() for block in text.table}
        return [block for block in range(self.num_blocks) if block not in held]

    @property
    def used(self):
        return self.num_blocks - len(self.empty())

    def append(self, text, keys, values):
        old = self.texts.get(text) or Text()
        n, rest = keys.shape[1], old.length % self.block_size
        new = Text(old.table[:], old.length + n)
        empty = self.empty()
        if rest and self.holders(new.table[-1]) > 1:
            if not empty:
                raise RuntimeError("no block for the copy")
            new.table[-1] = empty.pop(0)
        missing = -(-new.length // self.block_size) - len(new.table)
        if missing > len(empty):
            raise RuntimeError(f"{missing} blocks are missing")
        new.table.extend(empty[:missing])
        if self.blocks is None:
            d, dv = keys.shape[2], values.shape[2]
            shape = keys.shape[0], self.block_size, d + dv
            self.split = d, dv
            self.blocks = [torch.zeros(shape, dtype=keys.dtype, device=keys.device) for _ in range(self.num_blocks)]
        if rest and new.table[len(old.table) - 1] != old.table[-1]:
            self.blocks[new.table[len(old.table) - 1]].copy_(self.blocks[old.table[-1]])
        both, done = torch.cat([keys, values], dim=-1).detach(), 0
        while done < n:
            at = (old.length + done) % self.block_size
            some = min(self.block_size - at, n - done)
            self.blocks[new.table[(old.length + done) // self.block_size]][:, at : at + some] = both[
                :, done : done + some
            ]
            done += some
        self.texts[text] = new

    def read(self, text):
        held = self.texts[text]
        joined = torch.cat([self.blocks[block] for block in held.table], dim=1)[:, : held.length]
        return joined.split(self.split, dim=-1)

    def fork(self, text, new):
        if new in self.texts:
            raise ValueError(f"the name {new} is taken")
        self.texts[new] = Text(self.texts[text].table[:], self.texts[text].length)

    def free(self, text):
        del self.texts[text]
