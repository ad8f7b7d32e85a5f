"""What goes wrong in `EncoderHead(n_embd, head_size)`, as edits of the course's own answer."""

from ...mistakes.bank import Bank
from ...mistakes.prices import ALL
from ..families import roles
from ..families.attention import mistakes as attention
from ..families.many_heads import mistakes as family

BANK = Bank(
    "EncoderHead",
    places=attention.LAYERS
    | attention.CALLS
    | {
        "CHECK": """if x.dim() != 3:
            raise ValueError(f"expected a batch (b, t, n_embd), got {tuple(x.shape)}")""",
        "PRODUCT": "q @ k.transpose(-2, -1)",
        "SCALE": " * k.shape[-1] ** -0.5",
        "WEIGH": "wei = F.softmax(wei, dim=-1)",
        "SOFTMAX": "F.softmax(wei, dim=-1)",
        "MIX": "wei @ v",
        "END": "wei @ v",
        "RETURN": "return wei @ v",
        "SUPER": "super().__init__()",
    },
    words=attention.WORDS
    | attention.NAMES_003
    | {"SHAPE": "(b, t, n_embd)", "N": "t", "HIDE": 'wei = wei.masked_fill(tril == 0, float("-inf"))'},
)
mistake = BANK.mistake

# --- the original and its defects -----------------------------------------------------------------

BANK.released(
    "original-003",
    "This is the head as it was given: a causal mask hides from each token all that come after it, and the"
    " scale goes by the width of the input.",
    "003",
)
mistake(
    "mask-left-in",
    "The scale is right, but the causal mask is still there: take it out, so that each token sees those after it too.",
    price=ALL,
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
    CHECK="""{CHECK}
        if x.shape[1] > 8:
            raise ValueError(f"a sequence of {x.shape[1]} tokens is longer than the block of 8")""",
)
BANK.share(attention.SHARED, "with-biases", "output-projection-added")
mistake(
    "not-divided-but-multiplied",
    "The scores are multiplied by the root of `head_size`, and not divided: the exponent is -0.5.",
    SCALE=" * k.shape[-1] ** 0.5",
)
BANK.share(attention.SHARED, "tokens-of-all-sequences")

# --- what goes wrong in any head ------------------------------------------------------------------

BANK.share(attention.IN_ANY_HEAD)
BANK.share(attention.SHARED, "scale-by-input-width", originals={"scale-by-input-width": "003"})
WRITTEN_OUT = family.WRITTEN_OUT | family.WITHOUT_DIM
for id in ("no-softmax", "scale-multiplied"):  # above, under other names
    del WRITTEN_OUT[id]
BANK.share(WRITTEN_OUT | attention.SHIFTED)
mistake(
    "mask-added-as-a-number",
    "A triangle of 0 and 1 is still added to the scores: take the mask out, and all that comes of it.",
    WEIGH="wei = wei + torch.tril(torch.ones_like(wei))\n        {WEIGH}",
)
BANK.share(roles.of(BANK))
