"""Wrong implementations of `BigramLanguageModel(vocab_size, n_embd, block_size, num_heads, dropout=0.0)`.

Each replaces a step of `Model`, hands it wrong `StackedHeads`, or is the original.
"""

import torch
import torch.nn.functional as F
from torch import nn

from ...mistakes.bank import bank, misconception
from ..StackedHeads.mistakes import Stacked


class Model(nn.Module):
    """The right steps: (b, t) -> logits (b, t, vocab_size), mean loss or None."""

    Stack = Stacked

    def __init__(self, vocab_size, n_embd, block_size, num_heads, dropout=0.0):
        super().__init__()
        self.refuse_heads(n_embd, num_heads)
        self.block_size, self.longest, self.p = block_size, block_size, dropout
        self.make(vocab_size, n_embd, block_size, num_heads, dropout)

    def make(self, vocab_size, n_embd, block_size, num_heads, dropout):
        self.token_embedding_table = nn.Embedding(vocab_size, n_embd)
        self.position_embedding_table = nn.Embedding(block_size, n_embd)
        self.sa_head = self.Stack(num_heads, n_embd // num_heads, n_embd, block_size, dropout)
        self.lm_head = nn.Linear(n_embd, vocab_size)

    def refuse_heads(self, n_embd, num_heads):
        if n_embd % num_heads:
            raise ValueError(f"n_embd = {n_embd} is no multiple of num_heads = {num_heads}")

    def refuse(self, idx):
        if idx.dim() != 2:
            raise ValueError(f"expected (b, t), got {tuple(idx.shape)}")
        if idx.shape[1] > self.longest:
            raise ValueError(f"{idx.shape[1]} tokens are more than block_size = {self.longest}")

    def places(self, idx):
        return torch.arange(idx.shape[1], device=idx.device)

    def positions(self, idx):
        return self.position_embedding_table(self.places(idx))  # (t, n_embd)

    def embed(self, idx):
        return self.token_embedding_table(idx) + self.positions(idx)  # (b, t, n_embd)

    def attend(self, x):
        return self.sa_head(x)  # (b, t, n_embd)

    def score(self, x):
        return self.lm_head(x)  # (b, t, vocab_size)

    def loss(self, logits, targets):
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())

    def give(self, logits, targets):
        return logits, None if targets is None else self.loss(logits, targets)

    def forward(self, idx, targets=None):
        self.refuse(idx)
        return self.give(self.score(self.attend(self.embed(idx))), targets)


def wrong(id, says, original=None, base=Model, **steps):
    """A model with these steps instead of the right ones."""
    name = "".join(part.capitalize() for part in id.split("-"))
    return misconception(id, says, original)(type(name, (base,), {**steps, "__module__": __name__}))


# --- the original and its defects -----------------------------------------------------------------


# Typed as the notebook has it; all sizes and the device are globals there.
# fmt: off
# ruff: noqa: F821
@misconception(
    "original-003",
    "This is notebook 003's class as it was given: the constructor takes nothing (TypeError), since all sizes and the"
    " device are globals. It also returns three things, and other logits when there are targets.",
    original="003",
)
class BigramLanguageModel(nn.Module):
    """Predicts each word's probability from the previous word."""

    def __init__(self):
        super().__init__()
        self.token_embedding_table = nn.Embedding(vocab_size, n_embd)
        self.position_embedding_table = nn.Embedding(block_size, n_embd)
        self.sa_head = StackedHeads(4, n_embd // 4)
        self.lm_head = nn.Linear(n_embd, vocab_size)

    def forward(self, idx, targets=None):
        B, T = idx.shape
        tok_emb = self.token_embedding_table(idx)                                  # (B, T, C)
        pos_emb = self.position_embedding_table(torch.arange(T, device=device))    # (T, C)
        x = tok_emb + pos_emb                                                      # (B, T, C)
        x = self.sa_head(x)                                                        # (B, T, C)
        x2 = x
        logits = self.lm_head(x)                                                   # (B, T, vocab_size)

        if targets is None:
            loss = None
        else:
            B, T, C = logits.shape
            logits = logits.view(B * T, C)
            targets = targets.view(B * T)
            loss = F.cross_entropy(logits, targets)

        return logits, loss, x2


# fmt: on


def original_forward(self, idx, targets=None):
    self.refuse(idx)
    x = self.attend(self.embed(idx))
    return *flattened(self, self.score(x), targets), x


def three_things(self, idx, targets=None):
    self.refuse(idx)
    x = self.attend(self.embed(idx))
    return *self.give(self.score(x), targets), x


def flattened(self, logits, targets):
    if targets is None:
        return logits, None
    return logits.flatten(0, 1), self.loss(logits, targets)


wrong(
    "crashes-mended",
    "This is notebook 003's class with the globals mended: it still returns three things, and with targets its logits"
    " have the shape (b·t, vocab_size).",
    original="003",
    forward=original_forward,
)
wrong(
    "returns-three-things",
    "It returns a third thing, as notebook 003 does: return the logits and the loss, no more.",
    original="003",
    forward=three_things,
)
wrong(
    "logits-flattened",
    "With targets the logits have the shape (b·t, vocab_size), as in notebook 003: flatten them for the loss alone.",
    original="003",
    give=flattened,
)
wrong(
    "positions-on-the-cpu",
    "The places are made on the CPU, whatever the device of the tokens: hand `device=idx.device` to `arange`.",
    original="003",
    places=lambda self, idx: torch.arange(idx.shape[1]),
)
wrong(
    "always-four-heads",
    "There are four heads whatever `num_heads` says, as in notebook 003: use the parameter.",
    original="003",
    make=lambda self, v, n, block, heads, p: Model.make(self, v, n, block, 4, p),
)
wrong(
    "view-of-the-targets",
    "`view` needs a tensor that lies contiguous in memory, and targets cut from a text or transposed may not: use"
    " `reshape` or `flatten`.",
    original="003",
    loss=lambda self, logits, targets: F.cross_entropy(logits.flatten(0, 1), targets.view(-1)),
)

# --- embeddings and positions ---------------------------------------------------------------------

wrong(
    "no-positions",
    "These are the values you get without positions: add the rows of `position_embedding_table` to the tokens' own.",
    embed=lambda self, idx: self.token_embedding_table(idx),
)
wrong(
    "positions-from-one",
    "The first token gets row 1 of the position table: places count from 0.",
    places=lambda self, idx: torch.arange(1, idx.shape[1] + 1, device=idx.device),
)
wrong(
    "positions-backwards",
    "These are the values you get when places are counted from the end: the first token gets row 0.",
    places=lambda self, idx: torch.arange(idx.shape[1], device=idx.device).flip(0),
)
wrong(
    "positions-at-the-end-of-the-table",
    "A short sequence gets the last rows of the position table: it should get the first ones, from row 0.",
    places=lambda self, idx: torch.arange(self.longest - idx.shape[1], self.longest, device=idx.device),
)
wrong(
    "positions-of-the-batch",
    "The places run over the batch: each sequence gets one row for all its tokens, and each token should get its own.",
    positions=lambda self, idx: self.position_embedding_table(torch.arange(idx.shape[0], device=idx.device))[:, None],
)
wrong(
    "one-position-for-all",
    "All tokens get the same row of the position table, that of the length: each place has its own row.",
    positions=lambda self, idx: self.position_embedding_table(self.places(idx)[-1:]),
)
wrong(
    "tokens-as-places",
    "The position table is read at the tokens' numbers: read it at the places 0, 1, …, t−1.",
    positions=lambda self, idx: self.position_embedding_table(idx),
)
wrong(
    "positions-multiplied",
    "These are the values you get when the embeddings of token and place are multiplied: add them.",
    embed=lambda self, idx: self.token_embedding_table(idx) * self.positions(idx),
)


def concatenating(self, vocab_size, n_embd, block_size, num_heads, dropout):
    Model.make(self, vocab_size, n_embd, block_size, num_heads, dropout)
    self.token_embedding_table = nn.Embedding(vocab_size, n_embd - n_embd // 2)
    self.position_embedding_table = nn.Embedding(block_size, n_embd // 2)


wrong(
    "positions-concatenated",
    "The embeddings of token and place stand side by side, each with a part of the width: both should be n_embd wide,"
    " and be added.",
    make=concatenating,
    embed=lambda self, idx: torch.cat(
        [self.token_embedding_table(idx), self.positions(idx).expand(*idx.shape, -1)], dim=-1
    ),
)


def large_table(self, vocab_size, n_embd, block_size, num_heads, dropout):
    Model.make(self, vocab_size, n_embd, block_size, num_heads, dropout)
    self.position_embedding_table = nn.Embedding(vocab_size, n_embd)


wrong(
    "position-table-of-the-vocabulary",
    "The position table has `vocab_size` rows: it needs one for each of the `block_size` places.",
    make=large_table,
)


def added_once_more(self, x):
    return Model.attend(self, x) + self.position_embedding_table.weight[: x.shape[1]]


wrong(
    "positions-added-twice",
    "The positions are added a second time after the heads: add them once, to the tokens' embeddings.",
    attend=added_once_more,
)
wrong(
    "embeddings-scaled",
    "The tokens' embeddings are multiplied by the root of n_embd, as in Vaswani et al.: here they are not.",
    embed=lambda self, idx: self.token_embedding_table(idx) * self.lm_head.in_features**0.5 + self.positions(idx),
)
wrong(
    "embeddings-detached",
    "The embeddings are cut out of the graph (`detach`, `.data`), so both tables never learn.",
    embed=lambda self, idx: Model.embed(self, idx).detach(),
)

# --- heads and output -----------------------------------------------------------------------------

wrong(
    "a-bigram-after-all",
    "The heads are never asked: the logits come from the token and its place alone, which is a bigram model.",
    attend=lambda self, x: x,
)
wrong(
    "residual",
    "The heads' input is added to their output: larger models do that, this one does not.",
    attend=lambda self, x: x + self.sa_head(x),
)
wrong(
    "heads-twice",
    "The heads are applied twice: once is asked for.",
    attend=lambda self, x: self.sa_head(self.sa_head(x)),
)
wrong(
    "activation-before-lm-head",
    "A ReLU stands between the heads and `lm_head`: nothing should.",
    attend=lambda self, x: self.sa_head(x).relu(),
)
wrong(
    "one-head",
    "It is one head of width n_embd: there should be `num_heads` heads, each n_embd // num_heads wide.",
    make=lambda self, v, n, block, heads, p: Model.make(self, v, n, block, 1, p),
)


def full_width(self, vocab_size, n_embd, block_size, num_heads, dropout):
    Model.make(self, vocab_size, n_embd, block_size, num_heads, dropout)
    self.sa_head = self.Stack(num_heads, n_embd, n_embd, block_size, dropout)


wrong(
    "heads-as-wide-as-the-embedding",
    "Each head is n_embd wide: it should be n_embd // num_heads wide.",
    make=full_width,
)


def without_bias(self, vocab_size, n_embd, block_size, num_heads, dropout):
    Model.make(self, vocab_size, n_embd, block_size, num_heads, dropout)
    self.lm_head = nn.Linear(n_embd, vocab_size, bias=False)


wrong("lm-head-without-bias", "`lm_head` has no bias: here it should have one.", make=without_bias)


def tied(self, *sizes):
    Model.make(self, *sizes)
    self.lm_head.weight = self.token_embedding_table.weight


wrong(
    "weights-tied",
    "`lm_head` shares its weight with the token embeddings: many models do that, this one has two tables.",
    make=tied,
)
wrong(
    "dropout-not-handed-on",
    "`dropout` does not reach the heads: hand it to `StackedHeads`.",
    make=lambda self, v, n, block, heads, p: Model.make(self, v, n, block, heads, 0.0),
)
wrong(
    "dropout-on-the-embeddings-as-well",
    "Dropout acts on the embeddings as well: here it should act on the attention weights alone, inside the heads.",
    embed=lambda self, idx: F.dropout(Model.embed(self, idx), self.p, self.training),
)
wrong(
    "dropout-after-the-heads-as-well",
    "Dropout acts on what the heads return as well: here it should act on the attention weights alone, inside them.",
    attend=lambda self, x: F.dropout(self.sa_head(x), self.p, self.training),
)
wrong(
    "dropout-of-a-fifth",
    "Weights are dropped with probability 0.2 although nothing was said of dropout: its default is 0.",
    original="003",
    make=lambda self, v, n, block, heads, p: Model.make(self, v, n, block, heads, p or 0.2),
)
wrong(
    "softmax-in-the-model",
    "It returns probabilities: return the logits as `lm_head` gives them, and leave the softmax to those who sample.",
    score=lambda self, x: self.lm_head(x).softmax(-1),
)
wrong(
    "log-softmax-in-the-model",
    "It returns logarithms of probabilities: return the logits as `lm_head` gives them.",
    score=lambda self, x: self.lm_head(x).log_softmax(-1),
)
wrong(
    "last-place-only",
    "It returns the logits of the last place alone: return those of all t places.",
    give=lambda self, logits, targets: Model.give(self, logits[:, -1:], None if targets is None else targets[:, -1:]),
)
wrong(
    "float32-comes-out",
    "The logits are float32 whatever the model's dtype: leave the dtype as it is.",
    score=lambda self, x: self.lm_head(x).float(),
)

# --- the loss -------------------------------------------------------------------------------------


def loss_of(id, says, loss, original=None):
    wrong(id, says, original, loss=loss)


def flat(logits, targets):
    return logits.flatten(0, 1), targets.flatten()


loss_of(
    "softmax-before-cross-entropy",
    "A softmax stands before `cross_entropy`, which takes logits and does that itself: the loss is that of a softmax of"
    " a softmax.",
    lambda self, logits, targets: F.cross_entropy(logits.softmax(-1).flatten(0, 1), targets.flatten()),
)
loss_of(
    "loss-summed",
    "The loss is the sum over all places: it should be the mean.",
    lambda self, logits, targets: F.cross_entropy(*flat(logits, targets), reduction="sum"),
)
loss_of(
    "loss-summed-over-time",
    "The losses are summed over the tokens and averaged over the batch only: take the mean over all b·t places.",
    lambda self, logits, targets: F.cross_entropy(*flat(logits, targets)) * targets.shape[1],
)
loss_of(
    "loss-of-every-place",
    "It returns a loss for every place: it should be one number, their mean.",
    lambda self, logits, targets: F.cross_entropy(*flat(logits, targets), reduction="none").view(targets.shape),
)
loss_of(
    "loss-of-the-last-place",
    "The loss is that of the last place alone: it should be the mean over all b·t places.",
    lambda self, logits, targets: F.cross_entropy(logits[:, -1], targets[:, -1]),
)
loss_of(
    "loss-over-the-wrong-axis",
    "The losses compete over another axis than the vocabulary: `cross_entropy` wants the classes in dimension 1.",
    lambda self, logits, targets: F.cross_entropy(logits, targets),
)


def shifted_again(self, logits, targets):
    if targets.shape[1] < 2:
        return Model.loss(self, logits, targets)
    return Model.loss(self, logits[:, :-1], targets[:, 1:])


loss_of(
    "targets-shifted-again",
    "The targets are shifted once more: they come in shifted, so the target at a place belongs to the logits there.",
    shifted_again,
)
loss_of(
    "token-0-ignored",
    "Targets that are 0 don't count in the loss: all do, token 0 is a character like any other.",
    lambda self, logits, targets: F.cross_entropy(*flat(logits, targets), ignore_index=0),
)
loss_of(
    "labels-smoothed",
    "The targets are smoothed (`label_smoothing`): the loss should be −log of the target's probability.",
    lambda self, logits, targets: F.cross_entropy(*flat(logits, targets), label_smoothing=0.1),
)
loss_of(
    "log-of-softmax",
    "The loss takes the logarithm of a softmax, which is 0 for very unlikely targets: use `cross_entropy` or"
    " `log_softmax`.",
    lambda self, logits, targets: -logits.softmax(-1).log().gather(-1, targets[..., None]).mean(),
)
loss_of(
    "log-of-sum-of-exp",
    "The loss takes exponentials of the logits as they are, which overflow: use `cross_entropy` or `log_softmax`.",
    lambda self, logits, targets: (logits.exp().sum(-1).log() - logits.gather(-1, targets[..., None])[..., 0]).mean(),
)
loss_of(
    "sign-of-the-loss",
    "The loss has the wrong sign: it is minus the mean of the logarithms.",
    lambda self, logits, targets: -Model.loss(self, logits, targets),
)
loss_of(
    "loss-in-bits",
    "The loss is in bits (logarithms to the base 2): take natural logarithms, as `cross_entropy` does.",
    lambda self, logits, targets: Model.loss(self, logits, targets) / 0.6931471805599453,
)
loss_of(
    "loss-detached",
    "The loss is cut out of the graph (`.item()`, `detach`), so nothing can learn from it.",
    lambda self, logits, targets: Model.loss(self, logits, targets).detach(),
)
wrong(
    "loss-is-zero-without-targets",
    "Without targets the loss is 0, as if all were perfect: it should be None.",
    give=lambda self, logits, targets: (
        logits,
        logits.new_zeros(()) if targets is None else self.loss(logits, targets),
    ),
)
wrong(
    "logits-alone",
    "Without targets it returns the logits alone: return the pair `(logits, None)`.",
    give=lambda self, logits, targets: logits if targets is None else (logits, self.loss(logits, targets)),
)
wrong(
    "loss-comes-first",
    "It returns the loss first: the pair is `(logits, loss)`.",
    give=lambda self, logits, targets: Model.give(self, logits, targets)[::-1],
)

# --- arguments and inputs -------------------------------------------------------------------------

wrong(
    "width-floored",
    "A width that the heads don't divide is rounded down without a word: raise a `ValueError` with both numbers.",
    original="003",
    refuse_heads=lambda self, n_embd, num_heads: None,
)


def unguarded(self, idx):
    if idx.dim() != 2:
        raise ValueError(f"expected (b, t), got {tuple(idx.shape)}")


wrong(
    "length-not-checked",
    "More tokens than `block_size` end in the position table's `IndexError`: raise a `ValueError` with both numbers.",
    original="003",
    refuse=unguarded,
)
wrong(
    "cropped-in-the-model",
    "More tokens than `block_size` are cropped without a word: raise a `ValueError`; `generate` does the cropping.",
    refuse=unguarded,
    forward=lambda self, idx, targets=None: Model.forward(
        self,
        idx[:, -self.longest :] if idx.dim() == 2 else idx,
        targets[:, -self.longest :] if targets is not None and targets.dim() == 2 else targets,
    ),
)


def batched(self, idx, targets=None):
    if idx.dim() == 1:
        return Model.forward(self, idx[None], targets)
    return Model.forward(self, idx, targets)


wrong(
    "rank-not-checked",
    "A single sequence (t,) is taken without a word: only (b, t) is asked for, refuse the rest with a `ValueError`.",
    forward=batched,
)


def forgetful(self, *sizes):
    Model.make(self, *sizes)
    del self.block_size


wrong(
    "block-size-not-kept",
    "The model has no attribute `block_size`, which `generate` and `train` will ask for: keep it in the constructor.",
    make=forgetful,
)
wrong(
    "squeezed",
    "`squeeze` drops every dimension of size 1, also a batch of one or a single token.",
    attend=lambda self, x: self.sa_head(x).squeeze(),
)


def in_place(self, idx):
    if not idx.is_meta:
        idx.clamp_(max=self.lm_head.out_features - 2)
    return Model.embed(self, idx)


wrong("tokens-changed", "The tokens are changed in place: whoever called it still needs them.", embed=in_place)


# --- wrong heads ----------------------------------------------------------------------------------

OF_THE_HEADS = (
    "no-scale",
    "scale-by-embedding-width",
    "keys-as-values",
    "query-and-key-swapped",
    "softmax-over-queries",
    "mask-inverted",
    "not-causal",
    "mask-one-too-far",
    "heads-reversed",
    "features-interleaved",
    "no-output-projection",
    "plain-list",
    "weights-detached",
    "dropout-in-eval",
)

for _id in OF_THE_HEADS:
    _known = bank("StackedHeads")[_id]
    _says = _known.says if _known.says.startswith("In your") else f"In your `StackedHeads`: {_known.says}"
    wrong(_id, _says, _known.original, Stack=_known.code)
