"""What goes wrong in `BigramLanguageModel(vocab_size, n_embd, block_size, num_heads, dropout=0.0)`.

They are edits of an answer that holds its own `Head` and `StackedHeads`, since these may be what is wrong.
"""

from ...mistakes.bank import Bank
from ...mistakes.prices import ALL
from ..families import forms
from ..families.attention import mistakes as attention
from ..families.wordings import says

BANK = Bank(
    "BigramLanguageModel",
    answer="plain",
    places=attention.LAYERS
    | attention.OUT_LAYER
    | {
        # Head
        "TRIANGLE": "torch.tril(torch.ones(block_size, block_size))",
        "PRODUCT": "q @ k.transpose(-2, -1)",
        "SCALE": " * k.shape[-1] ** -0.5",
        "HIDE": 'wei = wei.masked_fill(self.tril[:T, :T] == 0, float("-inf"))\n        ',
        "SOFTMAX": "F.softmax(wei, dim=-1)",
        "DROP": "self.dropout(F.softmax(wei, dim=-1))",
        "MIX": "self.dropout(F.softmax(wei, dim=-1)) @ v",
        # StackedHeads
        "HEADS": "nn.ModuleList([Head(n_embd, head_size, block_size, dropout) for _ in range(num_heads)])",
        "FOUND": "[h(x) for h in self.heads]",
        "JOINED": "torch.cat([h(x) for h in self.heads], dim=-1)",
        "PROJECTED": "self.proj(torch.cat([h(x) for h in self.heads], dim=-1))",
        # BigramLanguageModel
        "DIVIDES": """if n_embd % num_heads != 0:
            raise ValueError(f"{num_heads} heads do not divide {n_embd}")
        """,
        "KEPT": "self.block_size = block_size",
        "TOKEN_TABLE": "self.token_embedding_table = nn.Embedding(vocab_size, n_embd)",
        "POSITION_TABLE": "self.position_embedding_table = nn.Embedding(block_size, n_embd)",
        "STACK": "StackedHeads(num_heads, n_embd // num_heads, n_embd, block_size, dropout)",
        "LM_HEAD": "self.lm_head = nn.Linear(n_embd, vocab_size)",
        "SHAPE": "B, T = idx.shape",
        "TOO_LONG": """if T > self.block_size:
            raise ValueError(f"{T} tokens, but the block size is {self.block_size}")
        """,
        "TOKENS": "self.token_embedding_table(idx)",
        "POSITIONS": "self.position_embedding_table(torch.arange(T, device=idx.device))",
        "PLACES": "torch.arange(T, device=idx.device)",
        "SUM": "self.token_embedding_table(idx) + self.position_embedding_table(torch.arange(T, device=idx.device))",
        "ATTENDED": "self.sa_head(x)",
        "LOGITS": "self.lm_head(self.sa_head(x))",
        "LOSS": "F.cross_entropy(logits.view(B * T, -1), targets.reshape(B * T))",
        "FLAT": "logits.view(B * T, -1)",
        "TARGETS": "targets.reshape(B * T)",
        "NO_LOSS": "None if targets is None else",
        "END": "return logits, loss",
    },
    words=attention.WORDS
    | attention.NAMES_003
    | {
        "WEIGHTS": "self.dropout(F.softmax(wei, dim=-1))",
        "PROJECTION": "proj",
        "SIGNATURE": "def __init__(self, vocab_size, n_embd, block_size, num_heads, dropout=0.0):",
        "OUT_SIZES": "num_heads * head_size, n_embd",
        "ONES": "torch.ones(block_size, block_size)",
    },
)
mistake = BANK.mistake

# --- the original and its defects -----------------------------------------------------------------

BANK.released(
    "original-003",
    "This is the class as it was given: the constructor takes nothing (TypeError), since all sizes and the"
    " device are globals. It also returns three things, and other logits when there are targets.",
    "003",
)
mistake(
    "sizes-left-global",
    says("sizes-left-global", PARAMETERS="vocab_size, n_embd, block_size, num_heads and dropout"),
    {"self, vocab_size, n_embd, block_size, num_heads, dropout=0.0):": "self):"},
    original="003",
)
mistake(
    "crashes-mended",
    "This is the published class with the globals fixed: it still returns three things, and with targets its logits"
    " have the shape (b·t, vocab_size).",
    original="003",
    LOGITS="self.lm_head(x := self.sa_head(x))",
    END="return logits if targets is None else {FLAT}, loss, x",
)
mistake(
    "returns-three-things",
    "It returns a third thing, as the published class does: return the logits and the loss, no more.",
    original="003",
    LOGITS="self.lm_head(x := self.sa_head(x))",
    END="return logits, loss, x",
)
mistake(
    "logits-flattened",
    "With targets the logits have the shape (b·t, vocab_size), as in the published class: flatten for the loss alone.",
    original="003",
    END="return logits if targets is None else {FLAT}, loss",
)
mistake(
    "positions-on-the-cpu",
    says("positions-on-the-cpu", X="idx"),
    original="003",
    PLACES="torch.arange(T)",
)
mistake(
    "always-four-heads",
    says("always-four-heads", NUMBER_OF_HEADS="num_heads"),
    original="003",
    STACK="StackedHeads(4, n_embd // 4, n_embd, block_size, dropout)",
)
mistake(
    "view-of-the-targets",
    "`view` needs a tensor that lies contiguous in memory, and targets cut from a text or transposed may not: use"
    " `reshape` or `flatten`.",
    original="003",
    TARGETS="targets.view(B * T)",
)

mistake(
    "device-from-outside",
    says("device-from-outside", WHAT="`idx`"),
    original="003",
    PLACES="torch.arange(T, device=device)",
)
mistake(
    "super-not-called",
    "The constructor does not call `super().__init__()`, and a module can keep no layers before that.",
    {"{SIGNATURE}\n        super().__init__()": "{SIGNATURE}"},
)
mistake(
    "super-without-brackets",
    says("super-without-brackets"),
    {"{SIGNATURE}\n        super().__init__()": "{SIGNATURE}\n        super.__init__()"},
)
mistake(
    "super-init-misspelt",
    "`super().init()` does not exist: the constructor is called `__init__`, with two underscores on either side.",
    {"{SIGNATURE}\n        super().__init__()": "{SIGNATURE}\n        super().init()"},
)

# --- embeddings and positions ---------------------------------------------------------------------

mistake(
    "no-positions",
    "These are the values you get without positions: add the rows of `position_embedding_table` to the tokens' own.",
    SUM="{TOKENS}",
)
mistake(
    "positions-from-one",
    "The first token gets row 1 of the position table: places count from 0.",
    PLACES="torch.arange(1, T + 1, device=idx.device)",
)
mistake(
    "positions-backwards",
    "These are the values you get when places are counted from the end: the first token gets row 0.",
    PLACES="{PLACES}.flip(0)",
)
mistake(
    "positions-at-the-end-of-the-table",
    "A short sequence gets the last rows of the position table: it should get the first ones, from row 0.",
    PLACES="torch.arange(self.block_size - T, self.block_size, device=idx.device)",
)
mistake(
    "positions-of-the-batch",
    "The places run over the batch: each sequence gets one row for all its tokens, and each token should get its own.",
    PLACES="torch.arange(B, device=idx.device)[:, None]",
)
mistake(
    "one-position-for-all",
    "All tokens get the same row of the position table, that of the length: each place has its own row.",
    PLACES="torch.full((T,), T - 1, device=idx.device)",
)
mistake(
    "tokens-as-places",
    "The position table is read at the tokens' numbers: read it at the places 0, 1, …, t−1.",
    PLACES="idx",
)
mistake(
    "positions-of-the-whole-block",
    "There are always `block_size` places, which do not fit to a shorter sequence: make as many as there are tokens.",
    PLACES="torch.arange(self.block_size, device=idx.device)",
)
mistake(
    "positions-remembered",
    "The positions of an earlier call are used again, even when the table has changed: look them up in each call.",
    SHAPE="""{SHAPE}
        if not hasattr(self, "places") or len(self.places) < T:
            self.places = {POSITIONS}""",
    POSITIONS="self.places[:T]",
)
mistake(
    "positions-multiplied",
    "These are the values you get when the embeddings of token and place are multiplied: add them.",
    SUM="{TOKENS} * {POSITIONS}",
)
mistake(
    "positions-concatenated",
    "The embeddings of token and place stand side by side, each with a part of the width: both should be n_embd wide,"
    " and be added.",
    TOKEN_TABLE="self.token_embedding_table = nn.Embedding(vocab_size, n_embd - n_embd // 2)",
    POSITION_TABLE="self.position_embedding_table = nn.Embedding(block_size, n_embd // 2)",
    SUM="torch.cat([{TOKENS}, {POSITIONS}.expand(B, T, -1)], dim=-1)",
)
mistake(
    "position-table-of-the-vocabulary",
    "The position table has `vocab_size` rows: it needs one for each of the `block_size` places.",
    POSITION_TABLE="self.position_embedding_table = nn.Embedding(vocab_size, n_embd)",
)
mistake(
    "positions-added-twice",
    "The positions are added a second time after the heads: add them once, to the tokens' embeddings.",
    ATTENDED="self.sa_head(x) + {POSITIONS}",
)
mistake(
    "embeddings-scaled",
    "The tokens' embeddings are multiplied by the root of n_embd, as in Vaswani et al.: here they are not.",
    TOKENS="{TOKENS} * self.token_embedding_table.embedding_dim**0.5",
)
mistake(
    "embeddings-detached",
    "The embeddings are cut out of the graph (`detach`, `.data`), so both tables never learn.",
    SUM="({SUM}).detach()",
)

# --- heads and output -----------------------------------------------------------------------------

mistake(
    "a-bigram-after-all",
    "The heads are never asked: the logits come from the token and its place alone, which is a bigram model.",
    price=ALL,
    ATTENDED="x",
)
mistake(
    "residual",
    "The heads' input is added to their output: larger models do that, this one does not.",
    ATTENDED="x + self.sa_head(x)",
)
mistake(
    "heads-twice",
    "The heads are applied twice: once is asked for.",
    ATTENDED="self.sa_head(self.sa_head(x))",
)
mistake(
    "activation-before-lm-head",
    "A ReLU stands between the heads and `lm_head`: nothing should.",
    ATTENDED="F.relu(self.sa_head(x))",
)
mistake(
    "one-head",
    "It is one head of width n_embd: there should be `num_heads` heads, each n_embd // num_heads wide.",
    STACK="StackedHeads(1, n_embd, n_embd, block_size, dropout)",
)
mistake(
    "heads-as-wide-as-the-embedding",
    "Each head is n_embd wide: it should be n_embd // num_heads wide.",
    STACK="StackedHeads(num_heads, n_embd, n_embd, block_size, dropout)",
)
mistake(
    "lm-head-without-bias",
    "`lm_head` has no bias: here it should have one.",
    LM_HEAD="self.lm_head = nn.Linear(n_embd, vocab_size, bias=False)",
)
mistake(
    "weights-tied",
    "`lm_head` shares its weight with the token embeddings: many models do that, this one has two tables.",
    LM_HEAD="{LM_HEAD}\n        self.lm_head.weight = self.token_embedding_table.weight",
)
mistake(
    "dropout-not-handed-on",
    "`dropout` does not reach the heads: hand it to `StackedHeads`.",
    STACK="StackedHeads(num_heads, n_embd // num_heads, n_embd, block_size, 0.0)",
)
mistake(
    "dropout-on-the-embeddings-as-well",
    "Dropout acts on the embeddings as well: here it should act on the attention weights alone, inside the heads.",
    LM_HEAD="{LM_HEAD}\n        self.dropout = nn.Dropout(dropout)",
    SUM="self.dropout({SUM})",
)
mistake(
    "dropout-after-the-heads-as-well",
    "Dropout acts on what the heads return as well: here it should act on the attention weights alone, inside them.",
    LM_HEAD="{LM_HEAD}\n        self.dropout = nn.Dropout(dropout)",
    ATTENDED="self.dropout(self.sa_head(x))",
)
mistake(
    "dropout-of-a-fifth",
    "Weights are dropped with probability 0.2 although nothing was said of dropout: its default is 0.",
    {"dropout=0.0": "dropout=0.2"},
    original="003",
)
mistake(
    "softmax-in-the-model",
    "It returns probabilities: return the logits as `lm_head` gives them, and leave the softmax to those who sample.",
    LOGITS="F.softmax({LOGITS}, dim=-1)",
)
mistake(
    "log-softmax-in-the-model",
    "It returns logarithms of probabilities: return the logits as `lm_head` gives them.",
    LOGITS="F.log_softmax({LOGITS}, dim=-1)",
)
mistake(
    "last-place-only",
    "It returns the logits of the last place alone: return those of all t places.",
    LOGITS="{LOGITS}[:, -1:]",
    LOSS="F.cross_entropy(logits[:, -1], targets[:, -1])",
)
mistake(
    "float32-comes-out",
    "The logits are float32 whatever the model's dtype: leave the dtype as it is.",
    LOGITS="{LOGITS}.float()",
)

mistake(
    "float64-comes-out",
    "The logits are float64 whatever the model's dtype: leave the dtype as it is.",
    LOGITS="{LOGITS}.double()",
)

# --- the loss -------------------------------------------------------------------------------------

mistake(
    "softmax-before-cross-entropy",
    "A softmax stands before `cross_entropy`, which takes logits and does that itself: the loss is that of a softmax of"
    " a softmax.",
    FLAT="F.softmax({FLAT}, dim=-1)",
)
mistake(
    "loss-summed",
    says("loss-summed"),
    TARGETS='{TARGETS}, reduction="sum"',
)
mistake(
    "loss-summed-over-time",
    "The losses are summed over the tokens and averaged over the batch only: take the mean over all b·t places.",
    LOSS="{LOSS} * T",
)
mistake(
    "loss-of-every-place",
    "It returns a loss for every place: it should be one number, their mean.",
    LOSS='F.cross_entropy(logits.transpose(1, 2), targets, reduction="none")',
)
mistake(
    "loss-of-the-last-place",
    "The loss is that of the last place alone: it should be the mean over all b·t places.",
    LOSS="F.cross_entropy(logits[:, -1], targets[:, -1])",
)
mistake(
    "loss-over-the-wrong-axis",
    "The losses compete over another axis than the vocabulary: `cross_entropy` wants the classes in dimension 1.",
    LOSS="F.cross_entropy(logits, targets)",
)
mistake(
    "targets-shifted-again",
    "The targets are shifted once more: they come in shifted, so the target at a place belongs to the logits there.",
    FLAT="logits[:, : max(1, T - 1)].flatten(0, 1)",
    TARGETS="targets[:, min(1, T - 1) :].flatten()",
)
mistake(
    "token-0-ignored",
    "Targets that are 0 don't count in the loss: all do, token 0 is a character like any other.",
    TARGETS="{TARGETS}, ignore_index=0",
)
mistake(
    "labels-smoothed",
    "The targets are smoothed (`label_smoothing`): the loss should be −log of the target's probability.",
    TARGETS="{TARGETS}, label_smoothing=0.1",
)
mistake(
    "log-of-softmax",
    "The loss takes the logarithm of a softmax, which is 0 for very unlikely targets: use `cross_entropy` or"
    " `log_softmax`.",
    LOSS="-F.softmax(logits, dim=-1).log().gather(2, targets[:, :, None]).mean()",
)
mistake(
    "log-of-sum-of-exp",
    "The loss takes exponentials of the logits as they are, which overflow: use `cross_entropy` or `log_softmax`.",
    LOSS="(logits.exp().sum(-1, keepdim=True).log() - logits.gather(2, targets[:, :, None])).mean()",
)
mistake(
    "sign-of-the-loss",
    "The loss has the wrong sign: it is minus the mean of the logarithms.",
    LOSS="-{LOSS}",
)
mistake(
    "loss-in-bits",
    "The loss is in bits (logarithms to the base 2): take natural logarithms, as `cross_entropy` does.",
    LOSS="{LOSS} / math.log(2)",
)
mistake(
    "loss-detached",
    "The loss is cut out of the graph (`.item()`, `detach`), so nothing can learn from it.",
    LOSS="{LOSS}.detach()",
)
mistake(
    "loss-in-train-mode-only",
    "There is a loss in train mode only: with targets there should be one in eval mode as well, for the validation.",
    NO_LOSS="None if targets is None or not self.training else",
)
mistake(
    "targets-as-a-condition",
    "`if targets` asks a tensor of many numbers whether it is true, which is an error: ask `targets is None`.",
    NO_LOSS="None if not targets else",
)
mistake(
    "loss-is-zero-without-targets",
    "Without targets the loss is 0, as if all were perfect: it should be None.",
    NO_LOSS="logits.new_zeros(()) if targets is None else",
)
mistake(
    "logits-alone",
    "Without targets it returns the logits alone: return the pair `(logits, None)`.",
    END="return logits if targets is None else (logits, loss)",
)
mistake(
    "loss-comes-first",
    "It returns the loss first: the pair is `(logits, loss)`.",
    END="return loss, logits",
)

# --- arguments and inputs -------------------------------------------------------------------------

mistake(
    "width-floored",
    "A width that the heads don't divide is rounded down without a word: raise a `ValueError` with both numbers.",
    original="003",
    DIVIDES="",
)
mistake(
    "length-not-checked",
    "More tokens than `block_size` end in the position table's `IndexError`: raise a `ValueError` with both numbers.",
    original="003",
    TOO_LONG="",
)
mistake(
    "cropped-in-the-model",
    "More tokens than `block_size` are cropped without a word: raise a `ValueError`; `generate` does the cropping.",
    TOO_LONG="""if T > self.block_size:
            return self(idx[:, -self.block_size :], None if targets is None else targets[:, -self.block_size :])
        """,
)
mistake(
    "rank-not-checked",
    says("rank-not-checked", WHAT="an input that is not (b, t)", DIMS="`idx.dim()`"),
    SHAPE="if idx.dim() == 1:\n            idx = idx[None]\n        {SHAPE}",
)
mistake(
    "block-size-not-kept",
    "The model has no attribute `block_size`, which `generate` and `train` will ask for: keep it in the constructor.",
    KEPT="self.longest = block_size",
    TOO_LONG="""if T > self.longest:
            raise ValueError(f"{T} tokens, but the block size is {self.longest}")
        """,
)
mistake(
    "squeezed",
    says("squeezed", SUCH="a batch of one or a single token"),
    ATTENDED="self.sa_head(x).squeeze()",
)
mistake(
    "tokens-changed",
    "The tokens are changed in place: whoever called it still needs them.",
    SHAPE="idx.clamp_(max=self.lm_head.out_features - 2)\n        {SHAPE}",
)

# --- wrong heads ----------------------------------------------------------------------------------

BANK.share(
    attention.SHARED | {"mask-inverted": attention.SHARED["upside-down"]},
    "no-scale",
    "scale-by-embedding-width",
    "keys-as-values",
    "query-and-key-swapped",
    "softmax-over-queries",
    "mask-inverted",
    "not-causal",
    "mask-one-too-far",
    "weights-detached",
    "dropout-in-eval",
    within="Head",
    originals={"scale-by-embedding-width": "003"},
)
BANK.share(
    attention.SHARED,
    "heads-reversed",
    "features-interleaved",
    "no-output-projection",
    "plain-list",
    within="StackedHeads",
    edits={
        "heads-reversed": {"FOUND": "{FOUND}[::-1]"},
        "features-interleaved": {"JOINED": "torch.stack({FOUND}, dim=-1).flatten(2)"},
        "no-output-projection": {"OUT_LAYER": "", "PROJECTED": "{JOINED}"},
        "plain-list": {"HEADS": "[Head(n_embd, head_size, block_size, dropout) for _ in range(num_heads)]"},
    },
    originals={"no-output-projection": "003"},
)
mistake(
    "softmax-missing",
    "In your `Head`: there is no softmax, so the scores themselves serve as weights, and those that the mask fills are"
    " infinite.",
    SOFTMAX="wei",
)
mistake(
    "softmax-without-dim",
    says("softmax-without-dim"),
    SOFTMAX="F.softmax(wei)",
)
mistake(
    "keys-turned-with-t",
    "In your `Head`: `.T` turns all dimensions round, the batch too: swap the last two, `k.transpose(-2, -1)`.",
    PRODUCT="q @ k.T",
)
mistake(
    "dropout-on-scores",
    "In your `Head`: dropout acts on the scores, and makes NaN of those that the mask has filled with -inf: drop"
    " weights, after the softmax.",
    DROP="F.softmax(self.dropout(wei), dim=-1)",
)
mistake(
    "mask-learns",
    says("mask-learns"),
    {'self.register_buffer("tril", {TRIANGLE})': "self.tril = nn.Parameter({TRIANGLE})"},
)
BANK.share(
    attention.SHARED,
    "mask-filled-with-a-finite-number",
    within="Head",
    edits={"mask-filled-with-a-finite-number": {'float("-inf")': "-1e4"}},
)
forms.add_to(BANK)
