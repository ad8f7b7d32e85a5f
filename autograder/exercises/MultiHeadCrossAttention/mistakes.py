"""What goes wrong in `MultiHeadCrossAttention(d_query, d_context, d_out, num_heads, qkv_bias=False)`."""

from ...mistakes.bank import Bank
from ..families import forms, roles
from ..families.attention import mistakes as attention
from ..families.cross import mistakes as cross
from ..families.wordings import says

BANK = Bank(
    "MultiHeadCrossAttention",
    answer="step_by_step",
    places=cross.PLACES_OF_HEADS | {"SUPER": "super().__init__()", "RETURN": "return {END}"},
    words=cross.WORDS_OF_HEADS,
    alike={"context-changed": "input-changed"},  # a check sees that an input was changed, but not which one
)
mistake = BANK.mistake

mistake(
    "bias-lost-where-nothing-is-left",
    says("bias-lost-where-nothing-is-left"),
    {
        "return {END}": """output = {END}
        return output if context_mask is None else output * context_mask.any(-1)[:, None, None]"""
    },
)
mistake(
    "mask-repeated-in-the-wrong-order",
    "The heads join the batch item by item and the mask is repeated block by block, so that heads get the mask of"
    " another item: use `repeat_interleave`, or give the mask a dimension for the heads.",
    ALLOWED="context_mask.repeat(self.num_heads, 1).view(len(x), self.num_heads, 1, -1)",
)
mistake(
    "mask-without-a-dimension-for-heads",
    "The mask has a new dimension for the queries and none for the heads, so that its items are taken for heads: it"
    " should be (b, 1, 1, s).",
    ALLOWED="context_mask[:, None, :]",
)
mistake(
    "mask-in-one-head",
    "The mask hides tokens from the first head alone: it holds for all of them.",
    ALLOWED="{ALLOWED}.repeat(1, self.num_heads, 1, 1)\n            allowed[:, 1:] = True",
)
mistake(
    "projection-from-d-query",
    "`out_proj` starts from d_query: it starts from d_out, which is how wide all heads together are.",
    OUT_LAYER="self.out_proj = nn.Linear(d_query, d_out)",
)

BANK.share(cross.OF_HEADS | cross.RETURNED | attention.CONSTRUCTOR)
BANK.variant("nothing-left-is-nan", **cross.NAN_BY_ADDING)
BANK.variant("context-mask-inverted", HIDE=cross.FILLED_INVERTED)
BANK.share(roles.of(BANK))
forms.add_to(BANK)
