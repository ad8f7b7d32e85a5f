"""A paged cache by definition: which texts hold which blocks, without a pool."""

import torch


class Pages:
    """Texts as rows of keys and values, each token in a block that a number stands for."""

    def __init__(self, num_blocks: int, block_size: int) -> None:
        self.num_blocks, self.block_size, self.made = num_blocks, block_size, 0
        self.tokens: dict[str, tuple[torch.Tensor, torch.Tensor]] = {}
        self.blocks: dict[str, list[int]] = {}

    @property
    def used(self) -> int:
        """How many blocks are held by somebody: a shared one counts once."""
        return len({block for blocks in self.blocks.values() for block in blocks})

    def new_block(self) -> int:
        self.made += 1
        return self.made

    def missing(self, text: str, n: int) -> int:
        """How many free blocks `n` more tokens of a text take, one for a copy of a shared last block among them."""
        blocks, length = self.blocks.get(text, []), self.length(text)
        copied = length % self.block_size > 0 and sum(blocks[-1] in other for other in self.blocks.values()) > 1
        return -(-(length + n) // self.block_size) - len(blocks) + copied

    def length(self, text: str) -> int:
        return self.tokens[text][0].shape[1] if text in self.tokens else 0

    def append(self, text: str, keys: torch.Tensor, values: torch.Tensor) -> None:
        """Raises RuntimeError if no block is left, and changes nothing then."""
        if self.used + self.missing(text, keys.shape[1]) > self.num_blocks:
            raise RuntimeError("no block is left")
        blocks, length = list(self.blocks.get(text, [])), self.length(text)
        if length % self.block_size and sum(blocks[-1] in other for other in self.blocks.values()) > 1:
            blocks[-1] = self.new_block()
        while len(blocks) * self.block_size < length + keys.shape[1]:
            blocks.append(self.new_block())
        before = self.tokens.get(text, (keys[:, :0], values[:, :0]))
        self.tokens[text] = torch.cat([before[0], keys], dim=1), torch.cat([before[1], values], dim=1)
        self.blocks[text] = blocks

    def read(self, text: str) -> tuple[torch.Tensor, torch.Tensor]:
        return self.tokens[text]

    def fork(self, text: str, new: str) -> None:
        self.tokens[new], self.blocks[new] = self.tokens[text], list(self.blocks[text])

    def free(self, text: str) -> None:
        del self.tokens[text], self.blocks[text]
