"""What goes wrong in `scaled_self_attention(x)`, as edits of an answer that scales the scores (answers/)."""

from ...mistakes.bank import Bank
from ..families.parameter_free import mistakes as family

BANK = Bank(
    "scaled_self_attention",
    answer="bmm",  # most students scale the scores, where the course's own answer scales the tokens
    places={
        "CHECK": 'if x.dim() != 3:\n        raise ValueError(f"expected (b, t, k), got {tuple(x.shape)}")',
        "PRODUCT": "torch.bmm(x, x.transpose(1, 2)) / x.shape[-1] ** 0.5",
        "SCALE": " / x.shape[-1] ** 0.5",
        "SOFTMAX": "F.softmax(raw_weights, dim=2)",
        "RETURN": "return",
        "AVERAGE": "torch.bmm(weights, x)",
    },
    words={
        "NAME": "scaled_self_attention",
        "X": "x",
        "SHAPE": "(b, t, k)",
        "SCORES": "raw_weights",
        "WEIGHTS": "weights",
        "SCORE": "dot product over √k",
        "RIVALS": "the tokens of a row",
        "INDENT": "    ",
    },
)
mistake = BANK.mistake

BANK.share(family.WEIGHTS)

# --- the scale ------------------------------------------------------------------------------------

mistake("no-scale", "These are the values you get without a scale: divide the scores by √k.", SCALE="")
mistake(
    "scale-without-root",
    "These are the values you get when scores are divided by k (or both of their factors by √k): the scores should be"
    " divided by √k, once.",
    SCALE=" / x.shape[-1]",
)
mistake(
    "scale-by-number-of-tokens",
    "These are the values you get when scores are divided by √t: it is the number of features, k, that counts.",
    SCALE=" / x.shape[1] ** 0.5",
)
mistake(
    "scale-by-batch",
    "These are the values you get when scores are divided by √b, the root of the batch size: it is the last dimension,"
    " k, that counts.",
    SCALE=" / x.shape[0] ** 0.5",
)
mistake(
    "multiplied-by-the-root",
    "These are the values you get when scores are multiplied by √k: divide, to bring them back to a size that does not"
    " depend on k.",
    SCALE=" * x.shape[-1] ** 0.5",
)
mistake(
    "scale-after-softmax",
    "These are the values you get when the weights are divided by √k: scale the scores, before the softmax, else rows"
    " no longer sum to 1.",
    SCALE="",
    SOFTMAX="{SOFTMAX}{SCALE}",
)
mistake(
    "scaled-input-averaged",
    "The tokens are scaled for good, so what is averaged is too small as well: scale the scores, and average x itself.",
    CHECK="{CHECK}\n    x = x / x.shape[-1] ** 0.25",
    SCALE="",
)
mistake(
    "scale-tensor-on-the-cpu",
    "The scale is a tensor of its own, float32 and on the CPU: divide by a Python number, such as"
    " `x.shape[-1] ** 0.5`.",
    SCALE=" / torch.sqrt(torch.tensor([float(x.shape[-1])]))",
)

# --------------------------------------------------------------------------------------------------

BANK.share(family.AVERAGE, originals=family.ORIGINALS)
BANK.share(family.CARE, originals={"rank-not-checked": "000"})
BANK.share(family.BATCHES)
