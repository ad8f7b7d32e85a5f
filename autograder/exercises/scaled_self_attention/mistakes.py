"""What goes wrong in `scaled_self_attention(x)`, as edits of an answer that scales the scores (answers/)."""

from ...mistakes.bank import Bank
from ..families.attention import mistakes as attention
from ..families.parameter_free import mistakes as family
from ..families.wordings import says

BANK = Bank(
    "scaled_self_attention",
    answer="bmm",  # most students scale the scores, where the course's own answer scales the tokens
    places={
        "CHECK": 'if x.dim() != 3:\n        raise ValueError(f"expected (b, t, d), got {tuple(x.shape)}")',
        "PRODUCT": "torch.bmm(x, x.transpose(1, 2))",
        "SCALE": " / x.shape[-1] ** 0.5",
        "SOFTMAX": "F.softmax(raw_weights, dim=2)",
        "MIX": "torch.bmm(weights, x)",
        "END": "torch.bmm(weights, x)",
        "RETURN": "return torch.bmm(weights, x)",
    },
    words=family.WORDS
    | {
        "NAME": "scaled_self_attention",
        "X": "x",
        "SHAPE": "(b, t, d)",
        "SCORES": "raw_weights",
        "WEIGHTS": "weights",
        "WIDTH": "k",
        "SCORE": "dot product over √d",
    },
)
mistake = BANK.mistake

BANK.share(family.WEIGHTS)

# --- the scale ------------------------------------------------------------------------------------

BANK.share(
    attention.SCALE,
    "no-scale",
    "scale-without-root",
    "scale-by-number-of-tokens",
    "scale-after-softmax",
    "scale-tensor-on-the-cpu",
)
mistake(
    "scale-by-batch",
    "These are the values you get when scores are divided by √b, the root of the batch size: it is the last dimension,"
    " k, that counts.",
    SCALE=" / x.shape[0] ** 0.5",
)
mistake(
    "multiplied-by-the-root",
    "These are the values you get when scores are multiplied by √d: divide, to bring them back to a size that does not"
    " depend on k.",
    SCALE=" * x.shape[-1] ** 0.5",
)
mistake(
    "scale-in-float32",
    says("scale-in-float32", K="x"),
    SCALE=" / torch.sqrt(torch.tensor(float(x.shape[-1])))",
)
mistake(
    "scale-of-the-sentence",
    "These are the values you get when scores are divided by √6, whatever comes in: 6 is the width of the lesson's"
    " sentence. Take the width from `x.shape[-1]`.",
    SCALE=" / 6 ** 0.5",
)
mistake(
    "divided-by-k-and-by-two",
    "These are the values you get when scores are divided by k and then by 2, as by `/ k ** 1 / 2`, since a power goes"
    " before a division: the root is `k ** 0.5`.",
    SCALE=" / x.shape[-1] ** 1 / 2",
)
mistake(
    "divided-by-half-of-k",
    "These are the values you get when scores are divided by k / 2, as by `(k ** 1 / 2)`, where the power goes before"
    " the division: the root is `k ** 0.5`.",
    SCALE=" / (x.shape[-1] ** 1 / 2)",
)
mistake(
    "tokens-divided-by-the-root",
    "These are the values you get when the tokens themselves are divided by √d: then the scores are divided by d, and"
    " what is averaged is too small as well. Divide the scores by √d, and average x itself.",
    CHECK="{CHECK}\n    x = x / x.shape[-1] ** 0.5",
    SCALE="",
)
mistake(
    "scaled-input-averaged",
    "The tokens are scaled for good, so what is averaged is too small as well: scale the scores, and average x itself.",
    CHECK="{CHECK}\n    x = x / x.shape[-1] ** 0.25",
    SCALE="",
)

# --------------------------------------------------------------------------------------------------

BANK.share(family.AVERAGE, originals=family.ORIGINALS)
BANK.share(family.CARE, originals={"rank-not-checked": "000"})
BANK.share(family.BATCHES)
