"""What goes wrong in `EncoderHead(n_embd, head_size)`, as edits of the course's own answer."""

from ...mistakes.bank import Bank
from ..families.single_head import mistakes as family

BANK = Bank(
    "EncoderHead",
    places={
        "KEY_LAYER": "self.key = nn.Linear(n_embd, head_size, bias=False)",
        "QUERY_LAYER": "self.query = nn.Linear(n_embd, head_size, bias=False)",
        "VALUE_LAYER": "self.value = nn.Linear(n_embd, head_size, bias=False)",
        "WRONG_RANK": "if x.dim() != 3:\n"
        '            raise ValueError(f"expected a batch (b, t, n_embd), got {tuple(x.shape)}")',
        "MAKE_KEYS": "k = self.key(x)",
        "MAKE_QUERIES": "q = self.query(x)",
        "MAKE_VALUES": "v = self.value(x)",
        "PRODUCT": "q @ k.transpose(-2, -1)",
        "SCALE": " * k.shape[-1] ** -0.5",
        "WEIGH": "wei = F.softmax(wei, dim=-1)",
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
        "INPUT": "n_embd",
        "N": "t",
        "SHAPE": "(b, t, n_embd)",
        "HIDE": 'wei = wei.masked_fill(tril == 0, float("-inf"))',
    },
)
mistake = BANK.mistake

# --- the original and its defects -----------------------------------------------------------------

BANK.released(
    "original-003",
    "This is notebook 003's head as it was given: a causal mask hides from each token all that come after it, and the"
    " scale goes by the width of the input.",
    "003",
)
mistake(
    "mask-left-in",
    "The scale is right, but the causal mask is still there: take it out, so that each token sees those after it too.",
    WEIGH="tril = torch.tril(torch.ones_like(wei))\n        {HIDE}\n        {WEIGH}",
    original="003",
)
mistake(
    "mask-widened-by-one",
    "Each token sees one of those after it, and no more: a mask with another diagonal is still a mask. Take it out.",
    WEIGH="tril = torch.tril(torch.ones_like(wei), 1)\n        {HIDE}\n        {WEIGH}",
)
mistake(
    "mask-turned-round",
    "The mask has been turned round, so that each token sees itself and those after it: take it out.",
    WEIGH="tril = torch.triu(torch.ones_like(wei))\n        {HIDE}\n        {WEIGH}",
)
mistake(
    "does-not-see-itself",
    "No token sees itself: in an encoder each token sees all tokens, and it is one of them.",
    WEIGH='itself = torch.eye(x.shape[1], device=x.device) == 1\n        wei = wei.masked_fill(itself, float("-inf"))\n'
    "        {WEIGH}",
)
mistake(
    "mask-after-softmax",
    "The mask has moved behind the softmax, where it still takes away what comes later: take it out.",
    SOFTMAX="torch.tril({SOFTMAX})",
)
mistake(
    "softmax-taken-out-as-well",
    "The softmax has gone with the mask: the scores are no weights, and their rows don't sum to 1. Only the mask goes.",
    WEIGH="",
)
mistake(
    "block-size-still-asked-for",
    "The constructor still asks for `block_size` and `dropout`: without the mask nothing limits the length, and it"
    " takes `n_embd` and `head_size` alone.",
    {"n_embd, head_size):": "n_embd, head_size, block_size, dropout):"},
)
mistake(
    "length-still-limited",
    "A long sequence is still refused, or does not fit into a table of fixed size: without the mask any"
    " length will do.",
    MAKE_KEYS="if x.shape[1] > 8:\n"
    '            raise ValueError(f"a sequence of {x.shape[1]} tokens is longer than the block of 8")\n'
    "        {MAKE_KEYS}",
)
mistake(
    "with-biases",
    "The layers have biases: `key`, `query` and `value` are made with `bias=False`.",
    **family.WITH_BIAS,
)
mistake(
    "output-projection-added",
    "There is an output projection that nobody asked for: with a single head, the mixed values are the output.",
    VALUE_LAYER="{VALUE_LAYER}\n        self.proj = nn.Linear(head_size, head_size)",
    OUTPUT="self.proj({OUTPUT})",
)
mistake(
    "not-divided-but-multiplied",
    "The scores are multiplied by the root of `head_size`, and not divided: the exponent is -0.5.",
    SCALE=" * k.shape[-1] ** 0.5",
)
mistake(
    "tokens-of-all-sequences",
    "The sequences of the batch are joined, so that tokens see those of other sequences: keep the batch dimension.",
    MAKE_KEYS="shape, x = x.shape, x.reshape(1, -1, x.shape[-1])\n        {MAKE_KEYS}",
    OUTPUT="({OUTPUT}).reshape(*shape[:2], -1)",
)

# --- what goes wrong in any head ------------------------------------------------------------------

BANK.share(
    family.SHARED,
    "keys-from-queries",
    "values-from-queries",
    "keys-as-values",
    "query-and-key-swapped",
    "layers-made-in-forward",
    "no-scale",
    "scale-without-root",
    "scale-by-number-of-tokens",
    "scale-after-softmax",
)
mistake(
    "root-of-root-once",
    "These are the values you get when the scores are divided by the fourth root of a head's width: with the fourth"
    " root, both queries and keys must be divided.",
    SCALE=" * k.shape[-1] ** -0.25",
)
BANK.share(family.SHARED, "softmax-over-queries", "exp-without-max", "weights-detached")
mistake(
    "values-detached",
    "The values are cut out of the graph (`detach`, `.data`), so their layer never learns.",
    OUTPUT="wei @ v.detach()",
)
# Only at the end, so that gradients are as accurate as they should be.
mistake("float32-comes-out", family.SHARED["float32-comes-out"].says, OUTPUT="({OUTPUT}).float()")
BANK.share(family.SHARED, "scale-tensor-on-the-cpu", "rank-not-checked", "squeezed", "view-of-the-input")
mistake(
    "input-changed",
    "The input is changed in place (`x *= …`, `x.mul_(…)`): make a new tensor.",
    RETURN="if not x.requires_grad:\n            x.mul_(2)\n        return {OUTPUT}",
)
BANK.share(family.SHARED, "scale-by-input-width", originals={"scale-by-input-width": "003"})
