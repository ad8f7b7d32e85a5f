import heapq
from collections import Counter

import torch


class PagedCache:
    """The lowest empty block is taken first; holders are a Counter, and `used` is kept up to date by hand."""

    def __init__(self, num_blocks, block_size):
        if num_blocks < 1:
            raise ValueError(f"num_blocks = {num_blocks}")
        if block_size < 1:
            raise ValueError(f"block_size = {block_size}")
        self.capacity, self.block_size, self.used = num_blocks, block_size, 0
        self.heap, self.held, self.table, self.size = list(range(num_blocks)), Counter(), {}, {}
        self.keys = self.values = None

    def _grab(self):
        block = heapq.heappop(self.heap)
        self.held[block] = 1
        self.used += 1
        return block

    def _drop(self, block):
        self.held[block] -= 1
        if self.held[block] == 0:
            heapq.heappush(self.heap, block)
            self.used -= 1

    def append(self, text, keys, values):
        n, size = keys.size(1), self.size.get(text, 0)
        table = self.table.get(text, [])
        private = size % self.block_size == 0 or self.held[table[-1]] == 1
        need = (size + n - 1) // self.block_size + 1 - len(table) + (not private)
        if need > len(self.heap):
            raise RuntimeError(f"{need} > {len(self.heap)}")
        if self.keys is None:
            self.keys = torch.zeros(keys.size(0), self.capacity, self.block_size, keys.size(2)).to(keys)
            self.values = torch.zeros(values.size(0), self.capacity, self.block_size, values.size(2)).to(values)
        if not private:
            new = self._grab()
            self.keys[:, new], self.values[:, new] = self.keys[:, table[-1]], self.values[:, table[-1]]
            self._drop(table[-1])
            table[-1] = new
        while len(table) * self.block_size < size + n:
            table.append(self._grab())
        places = range(size, size + n)
        blocks = [table[place // self.block_size] for place in places]
        rows = [place % self.block_size for place in places]
        with torch.no_grad():
            self.keys[:, blocks, rows] = keys
            self.values[:, blocks, rows] = values
        self.table[text], self.size[text] = table, size + n

    def read(self, text):
        table, size = self.table[text], self.size[text]
        return tuple(
            pool[:, table].reshape(pool.size(0), -1, pool.size(3))[:, :size] for pool in (self.keys, self.values)
        )

    def fork(self, text, new):
        table = self.table[text]
        if new in self.table:
            raise ValueError(f"{new!r} is taken")
        self.table[new], self.size[new] = [*table], self.size[text]
        self.held.update(table)

    def free(self, text):
        table = self.table.pop(text)
        del self.size[text]
        for block in table:
            self._drop(block)
