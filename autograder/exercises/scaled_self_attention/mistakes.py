"""What goes wrong in `scaled_self_attention(x)`, as edits of the course's own answer."""

from ...mistakes.bank import Bank
from ..families.parameter_free import mistakes as family

BANK = Bank(
    "scaled_self_attention",
    places={
        "CHECK": "if x.dim() != 3:\n"
        '        raise ValueError(f"expected a batch of shape (b, t, k), got {tuple(x.shape)}")',
        "ROOT": "x.shape[2] ** 0.5",
        "PRODUCT": "torch.bmm(x / root, x.transpose(1, 2))",
        "SOFTMAX": "F.softmax(scaled_scores, dim=2)",
        "RETURN": "return",
        "AVERAGE": "torch.bmm(F.softmax(scaled_scores, dim=2), x)",
    },
    words={
        "NAME": "scaled_self_attention",
        "X": "x",
        "SHAPE": "(b, t, k)",
        "SCORES": "scaled_scores",
        "WEIGHTS": "F.softmax(scaled_scores, dim=2)",
        "SCALE": " / root",
        "SCORE": "dot product over √k",
        "RIVALS": "the tokens of a row",
        "INDENT": "    ",
    },
)
mistake = BANK.mistake

BANK.share(family.WEIGHTS)

# --- the scale ------------------------------------------------------------------------------------

mistake("no-scale", "These are the values you get without a scale: divide the scores by √k.", {"x / root": "x"})
mistake(
    "scale-without-root",
    "These are the values you get when scores are divided by k (or both of their factors by √k): the scores should be"
    " divided by √k, once.",
    ROOT="x.shape[2]",
)
mistake(
    "scale-by-number-of-tokens",
    "These are the values you get when scores are divided by √t: it is the number of features, k, that counts.",
    ROOT="x.shape[1] ** 0.5",
)
mistake(
    "scale-by-batch",
    "These are the values you get when scores are divided by √b, the root of the batch size: it is the last dimension,"
    " k, that counts.",
    ROOT="x.shape[0] ** 0.5",
)
mistake(
    "multiplied-by-the-root",
    "These are the values you get when scores are multiplied by √k: divide, to bring them back to a size that does not"
    " depend on k.",
    {"x / root": "x * root"},
)
mistake(
    "scale-after-softmax",
    "These are the values you get when the weights are divided by √k: scale the scores, before the softmax, else rows"
    " no longer sum to 1.",
    {"x / root": "x"},
    SOFTMAX="{SOFTMAX} / root",
)
mistake(
    "scaled-input-averaged",
    "The tokens are scaled for good, so what is averaged is too small as well: scale the scores, and average x itself.",
    {"root = x.shape[2] ** 0.5": "x = x / x.shape[2] ** 0.25", "x / root": "x"},
)
mistake(
    "scale-tensor-on-the-cpu",
    "The scale is a tensor of its own, float32 and on the CPU: divide by a Python number, such as"
    " `x.shape[-1] ** 0.5`.",
    ROOT="torch.sqrt(torch.tensor([float(x.shape[2])]))",
)

# --------------------------------------------------------------------------------------------------

BANK.share(family.AVERAGE, originals=family.ORIGINALS)
BANK.share(family.CARE)
mistake(
    "rank-not-checked",
    family.RANK["rank-not-checked"].says,
    CHECK="",
    ROOT="x.shape[-1] ** 0.5",
    PRODUCT="x / root @ x.mT",
    AVERAGE="F.softmax(scaled_scores, dim=-1) @ x",
    original="000",
)
BANK.share(family.BATCHES)
