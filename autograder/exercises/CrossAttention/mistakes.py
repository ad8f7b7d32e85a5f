"""What goes wrong in `CrossAttention(d_query, d_context, d_out, qkv_bias=False)`."""

from ...mistakes.bank import Bank
from ..families import forms, roles
from ..families.attention import mistakes as attention
from ..families.cross import mistakes as cross

BANK = Bank(
    "CrossAttention",
    answer="step_by_step",
    places=cross.PLACES
    | {
        "SUPER": "super().__init__()",
        "ALLOWED": "context_mask[:, None, :]",
        "END": "weights @ values",
        "RETURN": "return found",
    },
    words=cross.WORDS | {"ROWS": "context_mask[:, :, None]"},
    alike={"context-changed": "input-changed"},  # a check sees that an input was changed, but not which one
)
mistake = BANK.mistake

mistake(
    "nothing-to-take-the-largest-of",
    "A context without any tokens stops it: there is no largest score to subtract. Let torch's softmax do that, which"
    " takes an empty row as well.",
    WEIGH="""powers = (scores - scores.amax(-1, keepdim=True)).exp()
        weights = powers / powers.sum(-1, keepdim=True)""",
)
mistake(
    "empty-context-refused",
    "A context without any tokens is refused: it is no mistake, there is only nothing to find. The output is 0.",
    CHECK='{CHECK}\n        if context.shape[1] == 0:\n            raise ValueError("there are no tokens")',
)
BANK.share(attention.SHARED, "output-projection-added")
mistake(
    "weights-returned-as-well",
    "It returns the weights as well: only the output is asked for.",
    {"return found": "return found, weights"},
)
mistake(
    "values-pass-through",
    "The context itself is mixed, and `W_value` has no part in it: mix the values, which are W_value(context).",
    VALUES="context",
)

BANK.share(attention.IN_ANY_HEAD | attention.BIASES | cross.CONTEXT | cross.WRITTEN)
BANK.share(cross.RETURNED | attention.CONSTRUCTOR)
BANK.variant("nothing-left-is-nan", **cross.NAN_BY_ADDING)
BANK.variant("context-mask-inverted", HIDE=cross.FILLED_INVERTED)
mistake("input-added", attention.SHARED["input-added"].says, RETURN="return found + x")
BANK.share(roles.of(BANK))
forms.add_to(BANK)
