import torch


class PagedCache:
    """Blocks are made one by one, as they are needed, and counted by those whose tables have them."""

    def __init__(self, num_blocks, block_size):
        if num_blocks <= 0 or block_size <= 0:
            raise ValueError("both sizes must be positive")
        self.limit, self.block_size = num_blocks, block_size
        self.blocks, self.next = {}, 0  # number -> [keys, values, holders]
        self.texts = {}

    used = property(lambda self: len(self.blocks))

    def append(self, text, keys, values):
        numbers, length = self.texts.get(text, ([], 0))
        n, at = keys.shape[1], length % self.block_size
        copied = bool(at) and self.blocks[numbers[-1]][2] > 1
        more = -(-(length + n) // self.block_size) - len(numbers)
        if len(self.blocks) + more + copied > self.limit:
            raise RuntimeError("the pool is full")
        numbers = list(numbers)
        if copied:
            shared = self.blocks[numbers[-1]]
            shared[2] -= 1
            numbers[-1] = self.add(shared[0].clone(), shared[1].clone())
        for _ in range(more):
            shapes = [(x.shape[0], self.block_size, x.shape[2]) for x in (keys, values)]
            numbers.append(self.add(keys.new_zeros(shapes[0]), values.new_zeros(shapes[1])))
        for i in range(n):
            block = self.blocks[numbers[(length + i) // self.block_size]]
            block[0][:, (length + i) % self.block_size] = keys[:, i].detach()
            block[1][:, (length + i) % self.block_size] = values[:, i].detach()
        self.texts[text] = numbers, length + n

    def add(self, keys, values):
        self.next += 1
        self.blocks[self.next] = [keys, values, 1]
        return self.next

    def read(self, text):
        numbers, length = self.texts[text]
        return tuple(torch.cat([self.blocks[one][i] for one in numbers], dim=1)[:, :length] for i in range(2))

    def fork(self, text, new):
        if new in self.texts:
            raise ValueError(f"{new} is there already")
        numbers, length = self.texts[text]
        for one in numbers:
            self.blocks[one][2] += 1
        self.texts[new] = list(numbers), length

    def free(self, text):
        for one in self.texts.pop(text)[0]:
            self.blocks[one][2] -= 1
            if self.blocks[one][2] == 0:
                del self.blocks[one]
