"""What goes wrong in `Head(n_embd, head_size, block_size, dropout)`, as edits of the course's own answer."""

from ...mistakes.bank import Bank
from ..families.single_head import mistakes as family

BANK = Bank(
    "Head",
    places={
        "KEY_LAYER": "self.key = nn.Linear(n_embd, head_size, bias=False)",
        "QUERY_LAYER": "self.query = nn.Linear(n_embd, head_size, bias=False)",
        "VALUE_LAYER": "self.value = nn.Linear(n_embd, head_size, bias=False)",
        "BUFFER": 'self.register_buffer("tril", torch.tril(torch.ones(block_size, block_size)))',
        "TRIANGLE": "torch.tril(torch.ones(block_size, block_size))",
        "DROPOUT": "nn.Dropout(dropout)",
        "WRONG_RANK": "if x.dim() != 3:\n"
        '            raise ValueError(f"expected a batch (b, t, n_embd), got {tuple(x.shape)}")',
        "LENGTH": "t = x.shape[1]",
        "TOO_LONG": "if t > self.block_size:\n"
        '            raise ValueError(f"a sequence of {t} tokens is longer than the block of {self.block_size}")',
        "LONGER": "t > self.block_size",
        "MESSAGE": 'f"a sequence of {t} tokens is longer than the block of {self.block_size}"',
        "MAKE_KEYS": "k = self.key(x)",
        "MAKE_QUERIES": "q = self.query(x)",
        "MAKE_VALUES": "v = self.value(x)",
        "SCALED": "q @ k.transpose(-2, -1) * k.shape[-1] ** -0.5",
        "PRODUCT": "q @ k.transpose(-2, -1)",
        "TRANSPOSE": ".transpose(-2, -1)",
        "SCALE": " * k.shape[-1] ** -0.5",
        "HIDE": 'wei = wei.masked_fill(self.tril[:t, :t] == 0, float("-inf"))',
        "CUT": "self.tril[:t, :t]",
        "FILL": 'float("-inf")',
        "WEIGH": "wei = self.dropout(F.softmax(wei, dim=-1))",
        "DROP": "self.dropout(F.softmax(wei, dim=-1))",
        "SOFTMAX": "F.softmax(wei, dim=-1)",
        "DIM": "dim=-1",
        "RETURN": "return wei @ v",
        "OUTPUT": "wei @ v",
    },
    words={
        "QUERY": "query",
        "KEY": "key",
        "VALUE": "value",
        "Q": "q",
        "K": "k",
        "V": "v",
        "SCORES": "wei",
        "WEIGHTS": "wei",
        "SIZES": "n_embd, head_size",
        "WIDTH": "head_size",
        "N": "t",
        "SHAPE": "(b, t, n_embd)",
        "BLOCK": "block",
        "LONGEST": "self.block_size",
        "MASK": "self.tril",
        "ONES": "torch.ones(block_size, block_size)",
        "ALLOWED": "(self.tril[:t, :t] != 0)",
        "UNDROPPED": "F.softmax(wei, dim=-1)",
        "RENORMALISED": "self.dropout(wei / wei.sum(-1, keepdim=True))",
    },
)
mistake = BANK.mistake

# --- the original and its defects -----------------------------------------------------------------

BANK.released(
    "original-003",
    "This is notebook 003's class as it was given: its constructor takes the head's size alone, and the embedding's"
    " size, the block's and the dropout come from globals (NameError). Its scale goes by the wrong width.",
    "003",
)
mistake(
    "dropout-left-global",
    "The constructor has no parameter for dropout, which still comes from a global: it should take n_embd, head_size,"
    " block_size and dropout, in this order.",
    {"block_size, dropout):": "block_size):"},
    DROPOUT="nn.Dropout(0.0)",
    original="003",
)
mistake(
    "scale-by-embedding-width",
    "These are the values you get when scores are divided by the root of n_embd, as notebook 003 has it: it is the"
    " width of the key, head_size, that counts.",
    SCALE=" * x.shape[-1] ** -0.5",
    original="003",
)
mistake("always-bias", "The layers have a bias: none of the three should.", **family.WITH_BIAS)

# --- what all causal heads have in common ---------------------------------------------------------

BANK.share(family.PROJECTIONS)
BANK.share(family.SCORES)
BANK.share(family.CAUSAL_MASK)
BANK.share(family.DROPOUT)
BANK.share(family.CALLS, originals={"too-long-not-refused": "003"})
