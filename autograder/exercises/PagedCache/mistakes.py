"""What goes wrong in `PagedCache(num_blocks, block_size)`, as edits of the course's own answer."""

from ...mistakes.bank import Bank
from ..families.wordings import says

TAKEN_FIRST = "block = self.empty.pop()"
READING = "table, length = self.tables[text], self.lengths[text]"

BANK = Bank(
    "PagedCache",
    places={
        "REFUSED": "num_blocks < 1 or block_size < 1",
        "USED": "return len(self.holders) - len(self.empty)",
        "TABLE": "table, length = list(self.tables.get(text, [])), self.lengths.get(text, 0)",
        "COPIED": "copied = length % size > 0 and self.holders[table[-1]] > 1",
        "NEW": "new = -(-(length + n) // size) - len(table)",
        "LACKING": "if new + copied > len(self.empty):",
        "RAISED": 'raise RuntimeError(f"{new + copied} blocks are needed, and {len(self.empty)} are left")',
        "NO_POOL": "if self.keys is None:",
        "KEY_POOL": "self.keys = keys.new_zeros(blocks, h, size, keys.shape[2])",
        "VALUE_POOL": "self.values = values.new_zeros(blocks, h, size, values.shape[2])",
        "IF_COPIED": "if copied:",
        "COPY": "self.keys[table[-1]], self.values[table[-1]] = self.keys[shared], self.values[shared]",
        "LET_GO": "self.holders[shared] -= 1",
        "GROW": "table += [self.take() for _ in range(new)]",
        "WHERE": "block, place = table[(length + i) // size], (length + i) % size",
        "WRITE": "self.keys[block, :, place], self.values[block, :, place] = keys[:, i].detach(),"
        " values[:, i].detach()",
        "KEEP": "self.tables[text], self.lengths[text] = table, length + n",
        "GATHER": "keys, values = self.keys[table].transpose(0, 1).flatten(1, 2),"
        " self.values[table].transpose(0, 1).flatten(1, 2)",
        "READ": "return keys[:, :length], values[:, :length]",
        "TAKEN": "if new in self.tables:",
        "FORK": "self.tables[new], self.lengths[new] = list(self.tables[text]), self.lengths[text]",
        "HOLD": "for block in self.tables[new]:\n            self.holders[block] += 1",
        "FORGET": "for block in self.tables.pop(text):",
        "ONE_LESS": "self.holders[block] -= 1\n",
        "NOBODY": "if self.holders[block] == 0:",
        "GIVE_BACK": "self.empty.append(block)",
    },
    seen_on_a_gpu="tokens-overwritten",
)
mistake, variant = BANK.mistake, BANK.variant

# --- where tokens are -------------------------------------------------------------------------------

mistake(
    "tokens-overwritten",
    "New tokens are written from the beginning of the text again: they come behind those that it has.",
    WHERE="block, place = table[i // size], i % size",
)
mistake(
    "place-one-too-far",
    "Tokens are written one place too far, so the first place of a text stays empty: the first new one is at its"
    " length.",
    WHERE="block, place = table[min((length + i + 1) // size, len(table) - 1)], (length + i + 1) % size",
)
mistake(
    "always-a-new-block",
    "Each append begins a new block, and the rest of the last one stays empty: fill it first.",
    TABLE="table, length = list(self.tables.get(text, [])), -(-self.lengths.get(text, 0) // self.block_size)"
    " * self.block_size",
)
mistake(
    "one-block-too-many",
    "A block is taken ahead when the last one is full: take it when a token needs it.",
    NEW="new = (length + n) // size + 1 - len(table)",
)
mistake(
    "rounded-down",
    "The number of blocks is rounded down, so the last tokens have none: round up.",
    NEW="new = max((length + n) // size, 1) - len(table)",
)
mistake(
    "values-in-the-keys-order",
    "The values are read in the order of the blocks' numbers, not of the table: gather both by the table.",
    GATHER="keys, values = self.keys[table].transpose(0, 1).flatten(1, 2),"
    " self.values[sorted(table)].transpose(0, 1).flatten(1, 2)",
)
mistake(
    "blocks-in-order-of-number",
    "Blocks are read in the order of their numbers: a text's table says in which order they come.",
    GATHER="keys, values = self.keys[sorted(table)].transpose(0, 1).flatten(1, 2),"
    " self.values[sorted(table)].transpose(0, 1).flatten(1, 2)",
)
mistake(
    "heads-mixed",
    "Blocks are joined without bringing the heads to the front first, which mixes heads with tokens.",
    GATHER="keys, values = self.keys[table].reshape(self.keys.shape[1], -1, self.keys.shape[3]),"
    " self.values[table].reshape(self.values.shape[1], -1, self.values.shape[3])",
)
mistake(
    "empty-places-read",
    "The empty places of the last block are read as well: cut at the length of the text.",
    READ="return keys, values",
)
mistake(
    "last-token-not-read",
    "The last token of a text is not read.",
    READ="return keys[:, : length - 1], values[:, : length - 1]",
)

# --- forks ------------------------------------------------------------------------------------------

mistake(
    "table-shared",
    "A fork shares the table itself, so what one text appends is seen by the other: copy the list.",
    TABLE="table, length = self.tables.get(text, []), self.lengths.get(text, 0)",
    FORK="self.tables[new], self.lengths[new] = self.tables[text], self.lengths[text]",
)
mistake(
    "shared-block-overwritten",
    "A text writes into a block that another one holds as well: copy it first.",
    COPIED="copied = False",
)
mistake(
    "fork-copies-everything",
    "A fork copies all blocks: it shares them, and only the one that is written into is copied, later.",
    FORK="self.tables[new], self.lengths[new] = [self.take() for _ in self.tables[text]], self.lengths[text]\n"
    "        for mine, theirs in zip(self.tables[new], self.tables[text]):\n"
    "            self.keys[mine], self.values[mine] = self.keys[theirs], self.values[theirs]",
    HOLD="",
)
mistake(
    "holders-not-counted",
    "A fork is not counted as a holder of its blocks, so they are written into, and taken again once a text is freed.",
    HOLD="",
)
mistake(
    "copy-without-contents",
    "The copy of a shared block is taken, and what it held is not copied.",
    COPY="pass",
)
mistake(
    "values-not-copied",
    "Of a shared block only the keys are copied, not the values.",
    COPY="self.keys[table[-1]] = self.keys[shared]",
)
mistake(
    "old-block-not-let-go",
    "After a copy the text still counts as a holder of the shared block, which is never given back.",
    LET_GO="pass",
)
mistake(
    "full-blocks-copied",
    "A shared last block is copied although it is full, and nothing is written into it: only a partly filled one.",
    COPIED="copied = len(table) > 0 and self.holders[table[-1]] > 1",
)
mistake(
    "copied-by-the-last-holder",
    "A block that was shared once is copied although nobody else holds it any more: the last holder writes into it.",
    {"{HOLD}": "{HOLD}\n            self.empty_once = getattr(self, 'empty_once', set()) | {block}"},
    COPIED="copied = length % size > 0 and table[-1] in getattr(self, 'empty_once', {table[-1] + 1})",
    LET_GO="self.holders[shared] -= 1\n            self.empty += [shared] * (self.holders[shared] == 0)",
)

# --- counting and freeing ---------------------------------------------------------------------------

mistake(
    "used-counts-each-holder",
    "A shared block is counted once for each text that holds it: `used` counts it once.",
    USED="return sum(self.holders)",
)
mistake(
    "used-is-a-method",
    "`used` is a method, so reading it gives no number: make it a `@property`.",
    {"@property\n    def used": "def used"},
)
mistake(
    "used-counts-tokens",
    "`used` counts tokens: it counts blocks.",
    USED="return sum(self.lengths.values())",
)
mistake(
    "used-counts-empty",
    "`used` counts the blocks that are left: it counts those that are held.",
    USED="return len(self.empty)",
)
mistake(
    "nothing-given-back",
    "Freed blocks are never given back: what nobody holds can be taken again.",
    GIVE_BACK="pass",
)
mistake(
    "shared-blocks-given-back",
    "Freeing a text gives back blocks that another one still holds: only those without holders.",
    NOBODY="if block not in self.empty:",
)
mistake(
    "never-below-one",
    "Freeing a text leaves its blocks' holders as they were: take one off each.",
    ONE_LESS="pass\n",
    NOBODY="if self.holders[block] == 1:",
)

# --- errors -----------------------------------------------------------------------------------------

mistake(
    "blocks-taken-before-the-error",
    "An append that is refused has taken blocks already: count first, then take.",
    LACKING="if new + copied > len(self.empty):\n            self.empty.clear()",
)
variant(
    "blocks-taken-before-the-error",
    {TAKEN_FIRST: f"if not self.empty:\n            raise RuntimeError('no block is left')\n        {TAKEN_FIRST}"},
    LACKING="if False:",
)
mistake(
    "refused-text-begun",
    "A refused append leaves an empty text behind: nothing should have changed.",
    LACKING="if new + copied > len(self.empty):\n            self.tables[text], self.lengths[text] = table, length",
)
mistake(
    "copy-not-counted",
    "The copy of a shared block is not counted among those that are needed, so it ends in another error.",
    LACKING="if new > len(self.empty):",
)
mistake(
    "another-error",
    "Too few blocks end in another error than a `RuntimeError`.",
    RAISED='raise MemoryError("no block is left")',
)
mistake(
    "no-error",
    "Too few blocks are not noticed before one has to be taken: count them first, and raise a `RuntimeError`.",
    LACKING="if False:",
)
mistake(
    "unknown-names-read-as-empty",
    "Freeing an unknown name is taken: raise a `KeyError`.",
    {
        "{FORGET}": "for block in self.tables.pop(text, []):",
        "        del self.lengths[text]\n": "        self.lengths.pop(text, None)\n",
    },
)
mistake(
    "unknown-names-read",
    "Reading an unknown name gives something: raise a `KeyError`.",
    {READING: f"if text not in self.tables:\n            return None\n        {READING}"},
)
mistake(
    "unknown-names-in-another-error",
    "An unknown name ends in another error than a `KeyError`.",
    {
        READING: f"self.known(text)\n        {READING}",
        "if new in self.tables:": "self.known(text)\n        if new in self.tables:",
        "{FORGET}": "self.known(text)\n        {FORGET}",
        "def take(self):": "def known(self, text):\n        if text not in self.tables:\n"
        "            raise ValueError(text)\n\n    def take(self):",
    },
)
mistake(
    "taken-name-overwritten",
    "A fork to a name that is taken is not refused: raise a `ValueError`.",
    TAKEN="if False:",
)
mistake(
    "sizes-not-refused",
    "Sizes below 1 are not refused: raise a `ValueError`.",
    REFUSED="False",
)
mistake(
    "no-blocks-taken",
    "A pool of less than one block is not refused: raise a `ValueError`.",
    REFUSED="block_size < 1",
)

# --- the pool ---------------------------------------------------------------------------------------

mistake(
    "shared-by-all-caches",
    says("shared-by-all-caches"),
    {
        "self.tables, self.lengths = {}, {}": "self.tables, self.lengths = MADE_ONCE",
        "class PagedCache:": "MADE_ONCE = {}, {}\n\n\nclass PagedCache:",
    },
    lasts=True,
)
mistake(
    "pool-copied",
    "The whole pool is copied with each append: write into it.",
    WRITE="self.keys, self.values = self.keys.clone(), self.values.clone()\n            {WRITE}",
)
mistake(
    "whole-pool-read",
    "To read one text the whole pool is put in order: gather that text's blocks alone.",
    GATHER="order = table + [one for one in range(len(self.holders)) if one not in table]\n"
    "        keys, values = self.keys[order].transpose(0, 1).flatten(1, 2),"
    " self.values[order].transpose(0, 1).flatten(1, 2)",
)
mistake(
    "pool-in-float32",
    "The pool is made in float32, whatever the keys are: make it in their dtype.",
    KEY_POOL="self.keys = torch.zeros(blocks, h, size, keys.shape[2], device=keys.device)",
    VALUE_POOL="self.values = torch.zeros(blocks, h, size, values.shape[2], device=values.device)",
)
mistake(
    "pool-on-the-cpu",
    "The pool is made on the CPU: make it on the device of the keys.",
    KEY_POOL="self.keys = torch.zeros(blocks, h, size, keys.shape[2], dtype=keys.dtype)",
    VALUE_POOL="self.values = torch.zeros(blocks, h, size, values.shape[2], dtype=values.dtype)",
)
mistake(
    "input-changed",
    says("input-changed", X="keys"),
    WRITE="{WRITE}\n            keys[:, i] *= 1.01",
)

# --- other orders -----------------------------------------------------------------------------------

# Which of the empty blocks is taken is free, and decides what a mistake overwrites: here the last one that was given
# back, elsewhere the lowest or the one that has been empty for the longest time.
for order in ("self.empty.pop(self.empty.index(min(self.empty)))", "self.empty.pop(0)"):
    variant(
        "shared-blocks-given-back",
        {TAKEN_FIRST: f"block = {order}"},
        ONE_LESS="self.holders[block] = 0\n",
        NOBODY="if block not in self.empty:",
    )
    variant("shared-blocks-given-back", {TAKEN_FIRST: f"block = {order}"}, NOBODY="if block not in self.empty:")
    variant("holders-not-counted", {TAKEN_FIRST: f"block = {order}"}, HOLD="")
    variant("old-block-not-let-go", {TAKEN_FIRST: f"block = {order}"}, LET_GO="pass")
