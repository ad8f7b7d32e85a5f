"""What goes wrong in `self_attention(x)`, as edits of the course's own answer."""

from ...mistakes.bank import Bank
from ..families.parameter_free import mistakes as family

BANK = Bank(
    "self_attention",
    places={
        "CHECK": "if x.dim() != 3:\n"
        '        raise ValueError(f"expected a batch of shape (b, t, d), got {tuple(x.shape)}")',
        "PRODUCT": "torch.bmm(x, x.transpose(1, 2))",
        "SOFTMAX": "F.softmax(raw_weights, dim=2)",
        "MIX": "torch.bmm(row_weights, x)",
        "END": "torch.bmm(row_weights, x)",
        "RETURN": "return torch.bmm(row_weights, x)",
    },
    words=family.WORDS
    | {
        "NAME": "self_attention",
        "X": "x",
        "SHAPE": "(b, t, d)",
        "SCORES": "raw_weights",
        "WEIGHTS": "row_weights",
        "SCORE": "plain dot product",
    },
    seen_on_a_gpu="scaled-already",
)

BANK.share(family.WEIGHTS)
BANK.share(family.UNSCALED)
BANK.share(family.AVERAGE, originals=family.ORIGINALS)
BANK.share(family.CARE, originals={"rank-not-checked": "000"})
BANK.share(family.BATCHES)
