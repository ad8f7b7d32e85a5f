# %% right
import torch


class PagedCache:
    def __init__(self, num_blocks, block_size):
        if num_blocks < 1:
            raise ValueError("num_blocks must be at least 1")
        if block_size < 1:
            raise ValueError("block_size must be at least 1")
        self.num_blocks = num_blocks
        self.block_size = block_size
        self.refs = [0] * num_blocks
        self.tables = {}
        self.lengths = {}
        self.k_pool = None
        self.v_pool = None

    @property
    def used(self):
        return sum(1 for r in self.refs if r > 0)

    def _free_blocks(self):
        return [b for b in range(self.num_blocks) if self.refs[b] == 0]

    def append(self, text, keys, values):
        h, n, d = keys.shape
        dv = values.shape[-1]
        bs = self.block_size
        length = self.lengths.get(text, 0)
        table = self.tables.get(text, [])
        partly = length % bs != 0
        copy = partly and self.refs[table[-1]] > 1
        more = (length + n + bs - 1) // bs - len(table)
        free = self._free_blocks()
        if len(free) < more + (1 if copy else 0):
            raise RuntimeError("no blocks left")
        if self.k_pool is None:
            self.k_pool = torch.zeros(self.num_blocks, h, bs, d, dtype=keys.dtype, device=keys.device)
            self.v_pool = torch.zeros(self.num_blocks, h, bs, dv, dtype=values.dtype, device=values.device)
        table = list(table)
        if copy:
            old, new = table[-1], free.pop(0)
            self.k_pool[new] = self.k_pool[old]
            self.v_pool[new] = self.v_pool[old]
            self.refs[old] -= 1
            self.refs[new] = 1
            table[-1] = new
        for _ in range(more):
            new = free.pop(0)
            self.refs[new] = 1
            table.append(new)
        for i in range(n):
            block, place = table[(length + i) // bs], (length + i) % bs
            self.k_pool[block, :, place] = keys[:, i].detach()
            self.v_pool[block, :, place] = values[:, i].detach()
        self.tables[text] = table
        self.lengths[text] = length + n

    def read(self, text):
        table, length = self.tables[text], self.lengths[text]
        k = torch.cat([self.k_pool[b] for b in table], dim=1)
        v = torch.cat([self.v_pool[b] for b in table], dim=1)
        return k[:, :length], v[:, :length]

    def fork(self, text, new):
        if new in self.tables:
            raise ValueError(f"{new} exists already")
        self.tables[new] = self.tables[text].copy()
        self.lengths[new] = self.lengths[text]
        for b in self.tables[new]:
            self.refs[b] += 1

    def free(self, text):
        for b in self.tables.pop(text):
            self.refs[b] -= 1
        del self.lengths[text]

# %% always_one_more: a block is taken whenever a text ends at the end of one: one too many for full ones
# expect: one-block-too-many
# -        more = (length + n + bs - 1) // bs - len(table)
# +        more = (length + n) // bs + 1 - len(table)

# %% checked_on_the_way: blocks are taken one by one, and the error comes when there is none, after something was changed
# expect: blocks-taken-before-the-error
# -        if len(free) < more + (1 if copy else 0):
# -            raise RuntimeError("no blocks left")

# -        if copy:
# +        if copy:
# +            if not free:
# +                raise RuntimeError("no blocks left")

# -        for _ in range(more):
# +        for _ in range(more):
# +            if not free:
# +                raise RuntimeError("no blocks left")

# %% copies_full_blocks: the last block is copied whenever it is shared, also if it is full
# expect: full-blocks-copied
# -        copy = partly and self.refs[table[-1]] > 1
# +        copy = bool(table) and self.refs[table[-1]] > 1

# %% copy_not_counted: the copy is not counted when blocks are short
# expect: copy-not-counted
# -        if len(free) < more + (1 if copy else 0):
# +        if len(free) < more:

# %% free_forgets_all: free gives blocks back though another text holds them
# expect: shared-blocks-given-back
# -            self.refs[b] -= 1
# +            self.refs[b] = 0

# %% last_holder_copies: the old block of a copy stays counted, so it is never free again
# expect: old-block-not-let-go
# -            self.refs[old] -= 1

# %% no_copy_on_write: a shared block is written into, without a copy
# expect: shared-block-overwritten
# -        copy = partly and self.refs[table[-1]] > 1
# +        copy = False

# %% same_list: a fork has the same list as its table; appends copy the table first, but refs are not counted up
# expect: holders-not-counted
# also: shared-block-overwritten
# -        self.tables[new] = self.tables[text].copy()
# +        self.tables[new] = self.tables[text]

# -        for b in self.tables[new]:
# -            self.refs[b] += 1

# %% used_is_a_method: used is a method, and errors are not those asked for: unknown names give None
# expect: used-is-a-method, unknown-names-read
# -    @property

# -    def read(self, text):
# +    def read(self, text):
# +        if text not in self.tables:
# +            return None
