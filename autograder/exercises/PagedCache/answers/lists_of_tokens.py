import torch


class Block:
    def __init__(self, tokens=()):
        self.tokens = list(tokens)  # (keys (h, d), values (h, dv)) each


class PagedCache:
    """A block is a list that fills up, and objects stand for blocks: texts that share one refer to the same."""

    def __init__(self, num_blocks, block_size):
        if num_blocks < 1 or block_size < 1:
            raise ValueError(f"{num_blocks} blocks of {block_size} tokens")
        self.num_blocks, self.block_size, self.texts = num_blocks, block_size, {}

    def holders(self, block):
        return sum(block is one for table in self.texts.values() for one in table)

    @property
    def used(self):
        return len({id(block) for table in self.texts.values() for block in table})

    def append(self, text, keys, values):
        table = list(self.texts.get(text, []))
        new = [(k.detach().clone(), v.detach().clone()) for k, v in zip(keys.unbind(1), values.unbind(1), strict=True)]
        room = self.block_size - len(table[-1].tokens) if table else 0
        copied = room > 0 and self.holders(table[-1]) > 1
        more = max(-(-(len(new) - room) // self.block_size), 0)
        if self.used + copied + more > self.num_blocks:
            raise RuntimeError("all blocks are taken")
        if copied:
            table[-1] = Block(table[-1].tokens)
        for token in new:
            if not table or len(table[-1].tokens) == self.block_size:
                table.append(Block())
            table[-1].tokens.append(token)
        self.texts[text] = table

    def read(self, text):
        tokens = [token for block in self.texts[text] for token in block.tokens]
        return tuple(torch.stack(parts, dim=1) for parts in zip(*tokens, strict=True))

    def fork(self, text, new):
        if new in self.texts:
            raise ValueError(f"{new} is the name of a text")
        self.texts[new] = list(self.texts[text])

    def free(self, text):
        del self.texts[text]
