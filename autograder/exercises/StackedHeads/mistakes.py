"""What goes wrong in `StackedHeads(num_heads, head_size, n_embd, block_size, dropout)`.

The mistakes are edits of `answers/plain.py`, which holds a `Head` as well: what goes wrong in there is said to be so.
"""

from ...mistakes.bank import Bank, shared
from ..families.many_heads import mistakes as family

LAYERS = """self.key = nn.Linear(n_embd, head_size, bias=False)
        self.query = nn.Linear(n_embd, head_size, bias=False)
        self.value = nn.Linear(n_embd, head_size, bias=False)"""

BANK = Bank(
    "StackedHeads",
    places={
        # of the stack
        "HEADS": "nn.ModuleList([Head(n_embd, head_size, block_size, dropout) for _ in range(num_heads)])",
        "PROJ": "self.proj = nn.Linear(num_heads * head_size, n_embd)",
        "FIND": "found = [head(x) for head in self.heads]",
        "JOIN": "torch.cat(found, dim=-1)",
        "PROJECT": "self.proj(torch.cat(found, dim=-1))",
        # of a head
        "LAYERS": LAYERS,
        "TRIANGLE": "torch.tril(torch.ones(block_size, block_size))",
        "DROPOUT": "nn.Dropout(dropout)",
        "START": "B, T, C = x.shape",
        "TOO_LONG": "if T > len(self.tril):",
        "QUERIES": "self.query(x)",
        "KEYS": "self.key(x)",
        "VALUES": "self.value(x)",
        "SCALE": " * k.shape[-1] ** -0.5",
        "HIDE": 'wei = wei.masked_fill(self.tril[:T, :T] == 0, float("-inf"))',
        "HIDDEN": "self.tril[:T, :T] == 0",
        "CORNER": "[:T, :T]",
        "FILL": 'float("-inf")',
        "DROP": "self.dropout(F.softmax(wei, dim=-1))",
        "SOFTMAX": "F.softmax(wei, dim=-1)",
        "END": "torch.bmm(wei, v)",
    },
    words={
        "PROJECTION": "proj",
        "SIZES": "B, T, C = x.shape",
        "CONTEXT": "block_size",
        "SIDE": "block_size",
        "ALLOWED": "self.tril[:T, :T] != 0",
        "DIVIDED_BY": " /",
        "WIDTH": "k.shape[-1]",
        "TOKENS": "T",
        "SCORES": "wei",
    },
    answer="plain",
)
mistake = BANK.mistake

# --- stacking -------------------------------------------------------------------------------------

mistake(
    "plain-list",
    "The heads are in a plain Python list, which hides their parameters: use `nn.ModuleList`.",
    HEADS="[Head(n_embd, head_size, block_size, dropout) for _ in range(num_heads)]",
)
mistake(
    "the-same-head-many-times",
    "It is one head, many times over (`[head] * n`): make a new one for each place.",
    HEADS="nn.ModuleList([Head(n_embd, head_size, block_size, dropout)] * num_heads)",
)
mistake(
    "no-output-projection",
    "As in notebook 003 there is no output projection: what the heads find should go through a Linear layer `proj`.",
    PROJ="",
    PROJECT="{JOIN}",
    original="003",
)
mistake("projection-never-used", family.NARROW["projection-never-used"].says, PROJECT="{JOIN}")
mistake(
    "projection-without-bias",
    "The output projection `proj` has no bias: here it should have one.",
    PROJ="self.proj = nn.Linear(num_heads * head_size, n_embd, bias=False)",
)
mistake(
    "projection-of-the-embedding",
    "`proj` goes from n_embd to n_embd: it should start from num_heads * head_size, which need not be n_embd.",
    PROJ="self.proj = nn.Linear(n_embd, n_embd)",
)
mistake(
    "heads-added",
    "What the heads find is added: place it side by side, so that `proj` can tell the heads apart.",
    JOIN="sum(found).repeat(1, 1, len(found))",
)
mistake(
    "heads-averaged",
    family.MANY_HEADS["heads-averaged"].says,
    JOIN="(sum(found) / len(found)).repeat(1, 1, len(found))",
)
mistake("heads-reversed", family.MANY_HEADS["heads-reversed"].says, JOIN="torch.cat(found[::-1], dim=-1)")
mistake(
    "features-interleaved",
    "The heads' features are interleaved (`stack` over the last dimension): join them with `cat`, head 0 first.",
    JOIN="torch.stack(found, dim=-1).flatten(2)",
)
mistake(
    "joined-along-the-tokens",
    "The heads' outputs are joined along the tokens: join them along the features, the last dimension.",
    JOIN="torch.cat(found, dim=1).reshape(x.shape[0], x.shape[1], -1)",
)
mistake(
    "heads-in-a-row",
    "Each head gets what the head before it returned: each should see the input.",
    FIND="found = []\n        for head in self.heads:\n            x = head(x)\n            found.append(x)",
)
mistake(
    "dropout-on-the-output-as-well",
    family.CAUSAL["dropout-on-the-output-as-well"].says,
    PROJ="{PROJ}\n        self.drop = nn.Dropout(dropout)",
    PROJECT="self.drop({PROJECT})",
)

# --- a wrong Head ---------------------------------------------------------------------------------

NOT_OF_A_HEAD = ("layers-made-in-forward", "root-of-root-once", "dropout-on-the-output-as-well")
BANK.share(
    {
        id: shared(f"In your `Head`: {entry.says}", **entry.changes)
        for id, entry in (family.ONE_HEAD | family.CAUSAL).items()
        if id not in NOT_OF_A_HEAD
    }
)
mistake(
    "scale-by-embedding-width",
    "In your `Head`: scores are divided by the root of n_embd, as in notebook 003: it is head_size that counts.",
    SCALE=" / x.shape[-1] ** 0.5",
    original="003",
)
mistake(
    "bias-everywhere",
    "In your `Head`: the layers for queries, keys and values have a bias, and nobody asked for one.",
    LAYERS=LAYERS.replace(", bias=False", ""),
)
