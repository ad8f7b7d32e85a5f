"""What goes wrong in `MyModel(vocab_size)`, as edits of a right answer with heads that share keys."""

from dataclasses import replace

from ...mistakes.bank import Bank
from ...mistakes.prices import HALF

OWN = "if state is None:\n            self.caches = [KVCache() for _ in self.attend]\n        caches = self.caches"

BANK = Bank(
    "MyModel",
    answer="grouped",
    places={
        "SIZES": "d=32, layers=2",
        "HIDDEN": "SwiGLU(d, 64)",
        "HEADS": "GroupedQueryAttention(d, 4, 1)",
        "PAST": "past = torch.ones(scores.shape[-2:], dtype=torch.bool).tril(start)",
        "HIDE": ".masked_fill(~past, -torch.inf)",
        "WEIGHTED": "(weights @ values",
        "LAYERS": "nn.ModuleList([GroupedQueryAttention(d, 4, 1) for _ in range(layers)])",
        "BLOCKS": "nn.ModuleList([SwiGLU(d, 64) for _ in range(layers)])",
        "THINK": "x = x + think(self.norms[2 * layer + 1](x))",
        "FORWARD": "def forward(self, idx, caches=None):",
        "LOGITS": "return self.logits(self.norms[-1](x))",
        "CACHES": "caches = [KVCache() for _ in self.attend]",
        "GIVEN": "if state is not None:",
        "PUT": "cache.keys, cache.values = state[2 * layer : 2 * layer + 2]",
        "ONE": "logits = self(token[:, None], caches)[:, -1]",
        "LAST": "self.logits = nn.Linear(d, vocab_size, bias=False)",
        "RETURNED": "return logits, [part for cache in caches for part in (cache.keys, cache.values)]",
    },
)
mistake, variant = BANK.mistake, BANK.variant

# --- forward ----------------------------------------------------------------------------------------

mistake(
    "not-causal",
    "In `forward` a later token changes the logits of earlier places: by a mask that is missing or not as it should be,"
    " or by a softmax, a norm or a reshape that goes over the tokens.",
    HIDE="",
)
mistake(
    "random-in-eval",
    "In eval mode the same texts give other logits each time: dropout goes on, unless it is an `nn.Dropout` or is told"
    " `training=self.training`.",
    HIDE="{HIDE}.add(torch.randn(scores.shape))",
)
variant("random-in-eval", WEIGHTED="(F.dropout(weights, 0.1) @ values")
mistake(
    "nothing-before",
    "Each token sees itself alone, so no more than a table of pairs can be learnt: let it see those before it.",
    PAST="past = torch.eye(*scores.shape[-2:], dtype=torch.bool)",
)
mistake(
    "probabilities-returned",
    "`forward` returns probabilities: return the logits, `cross_entropy` takes the softmax itself.",
    LOGITS="return self.logits(self.norms[-1](x)).softmax(dim=-1)",
)
mistake(
    "no-gradient",
    "`forward` runs without gradients, so nothing can be learnt: `torch.no_grad()` belongs to reading alone.",
    FORWARD="@torch.no_grad()\n    {FORWARD}",
)
mistake(
    "last-place-alone",
    "`forward` gives the logits of the last place alone: each place of a text has a next token to be learnt from.",
    LOGITS="return self.logits(self.norms[-1](x))[:, -1]",
    ONE="logits = self(token[:, None], caches)",
)

# --- the budget -------------------------------------------------------------------------------------

mistake(
    "too-many-weights",
    "The budget is 30,000 weights: a hidden layer or a width less will do.",
    HIDDEN="SwiGLU(d, 128)",
)
mistake(
    "too-many-bytes",
    "Its state is larger than the budget: let heads share keys, keep a shorter vector, or a state of fixed size.",
    HEADS="GroupedQueryAttention(d, 4, 4)",
)
mistake(
    "too-many-products",
    "Training takes more multiplications than the budget has: the same layers are gone through again and again.",
    THINK="for _ in range(6):\n                x = x + think(self.norms[2 * layer + 1](x)) / 6",
)
mistake(
    "window-of-16",
    "It is a window, and forgets: a token that is too many places back changes nothing, so answers are guessed.",
    PAST="past = torch.ones(scores.shape[-2:], dtype=torch.bool).tril(start).triu(start - 15)",
)

mistake(
    "layers-not-registered",
    "What it gives depends on random numbers that are no parameters, and so not learnt: put layers into an"
    " `nn.ModuleList`, not into a list.",
    LAYERS="[GroupedQueryAttention(d, 4, 1) for _ in range(layers)]",
    BLOCKS="[SwiGLU(d, 64) for _ in range(layers)]",
)

# --- step -------------------------------------------------------------------------------------------

mistake(
    "state-not-used",
    "`step` starts over with each token: put what the state holds into the caches first.",
    GIVEN="if False:",
)
mistake(
    "first-key-alone",
    "In `step` the new token sees the first one alone: it is the last of all that are cached, and sees all of them.",
    PAST="past = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()",
)
mistake(
    "kept-in-an-attribute",
    "Something that `step` remembers is in an attribute of the model or elsewhere outside, not in the state: return all"
    " of it.",
    LAST="{LAST}\n        self.caches = [KVCache() for _ in self.attend]",
    CACHES=OWN,
    GIVEN="if False:",
    RETURNED="return logits, [token]",
)
variant(
    "kept-in-an-attribute",
    CACHES=OWN,
    GIVEN="if False:",
    RETURNED="return logits, [token]",
)
mistake(
    "state-not-returned",
    "`step` returns the logits alone: return the pair (logits, state).",
    RETURNED="return logits",
)
mistake(
    "objects-in-the-state",
    "The state holds other things than tensors, such as a `KVCache` or pairs: it should be one list of tensors.",
    GIVEN="if state is not None:\n            caches = state\n        if False:",
    RETURNED="return logits, caches",
)
mistake(
    "logits-with-a-place",
    "`step` returns logits (b, 1, vocab_size): they are for one token, so take that place off.",
    ONE="logits = self(token[:, None], caches)",
)

# Each is tried alone: two at once would have to be trained, some hundred times for an answer that nothing explains. An
# edit that is not made with others has the price of what stops most checks: what is seen of a model is not all it does.
BANK.mistakes = {id: replace(one, edits=None, price=HALF) for id, one in BANK.mistakes.items()}
BANK.variants = [replace(one, edits=None, price=HALF) for one in BANK.variants]
