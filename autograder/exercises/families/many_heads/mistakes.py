"""Mistakes in modules with several heads, in addition to those in attention of any kind."""

from ....mistakes.bank import shared
from ..attention import mistakes as attention
from ..wordings import says

# --- what students write in any module with heads -------------------------------------------------

WRITTEN_OUT = (
    attention.SOFTMAX_BY_HAND
    | attention.PRODUCT_BY_HAND
    | attention.RETURNED
    | attention.some("key-not-transposed")
    | {
        "super-forgotten": shared(
            says("super-forgotten"),
            SUPER="pass",
        ),
        "super-without-brackets": shared(
            says("super-without-brackets"),
            SUPER="super.__init__()",
        ),
        "init-without-underscores": shared(
            says("init-without-underscores"),
            SUPER="super().init()",
        ),
        "first-result-kept": shared(
            "What the first call found is kept and given again to later calls: compute everything again in each call.",
            RETURN="""if not hasattr(self, "kept") or self.kept.shape[:2] != {X}.shape[:2]:
            self.kept = {END}
        return self.kept""",
        ),
        "first-weights-kept": shared(
            "The weights of `{KEY}` are copied in the first call and used ever after, so the layer learns in vain: call"
            " the layers in each `forward`.",
            KEYS="F.linear({SOURCE}, self.kept)",
            CHECK="""if not hasattr(self, "kept"):
            self.kept = self.{KEY}.weight.detach().clone()
        {CHECK}""",
        ),
    }
)
WITHOUT_DIM = {  # where the scores have three dimensions
    "softmax-without-dim": shared(
        says("softmax-without-dim"),
        SOFTMAX="F.softmax({SCORES})",
    ),
}

# --- heads that are each as wide as the input -----------------------------------------------------

WIDE = {
    "always-eight-heads": shared(
        says("always-eight-heads"),
        SUPER="{SUPER}\n        {NUMBER_OF_HEADS} = 8",
    ),
    "narrow-heads": shared(
        "The heads are k/h wide: here each is as wide as the input, and the layers go from k to k*h.",
        W_QUERY="self.toqueries = nn.Linear(k, k, bias=False)",
        W_KEY="self.tokeys = nn.Linear(k, k, bias=False)",
        W_VALUE="self.tovalues = nn.Linear(k, k, bias=False)",
        OUT_LAYER="self.unifyheads = nn.Linear(k, k)",
        NUMBER="{NUMBER}\n        k = k // h",
    ),
    **attention.IN_ANY_HEAD,
    "keys-as-values": shared(attention.SHARED["keys-as-values"].says, VALUES="{KEYS}"),  # keys before they are scaled
}
WIDE_WRITTEN_OUT = (
    WRITTEN_OUT
    | WITHOUT_DIM
    | {
        "fourth-root-of-a-tensor": shared(
            "The scale is a float32 tensor (`torch.tensor(…)`), which has too few digits for float64: divide by a"
            " Python number, such as `k ** (1 / 4)`.",
            SCALE="root = torch.tensor(float(k)) ** (1 / 4)\n        queries, keys = queries / root, keys / root",
        ),
    }
)
# Both answers scale queries and keys, and fold the heads into the batch, (b*h, t, k).
PLACES_OF_WIDE_HEADS = (
    attention.LAYERS
    | attention.CALLS
    | attention.OUT_LAYER
    | {
        "SUPER": "super().__init__()",
        "NUMBER": "h = self.{NUMBER_OF_HEADS}",
        "SCALE": "queries = queries / (k ** (1 / 4))\n        keys = keys / (k ** (1 / 4))",
        "PRODUCT": "torch.bmm(queries, keys.transpose(1, 2))",
        "SOFTMAX": "F.softmax({SCORES}, dim=2)",
        "MIX": "torch.bmm(weights, values)",
        "MERGE": "out.transpose(1, 2).contiguous().view(b, t, h * k)",
        "END": "self.unifyheads(out)",
        "RETURN": "return self.unifyheads(out)",
    }
)
WORDS_OF_WIDE_HEADS = (
    attention.WORDS
    | attention.NAMES_001
    | {
        "SIZES": "k, k * {NUMBER_OF_HEADS}",
        "OUT_SIZES": "{NUMBER_OF_HEADS} * k, k",
        "WIDTH": "a head's width",
        "N": "t",
        "SHAPE": "(b, t, k)",
        "HEADS": "h",
        "ONE": "h, k = 1, k * self.{NUMBER_OF_HEADS}",
        "FOUND": "out",
        "MERGED_SHAPE": "b, t, h * k",
        "RESHAPED": "queries, keys, values = (z.reshape(b * h, t, k) for z in (queries, keys, values))",
        "FASTEST": """queries, keys, values = (
            z.reshape(b, t, k, h).permute(0, 3, 1, 2).reshape(b * h, t, k) for z in (queries, keys, values)
        )""",
        "SOFTMAX_OVER_HEADS": "F.softmax({SCORES}.view(b, h, t, t), dim=1).view(b * h, t, t)",
        "UNCHECKED": "x = x if x.dim() < 4 else x.flatten(0, 1)",
    }
)

# --- causal heads, stacked or in one product ------------------------------------------------------

CAUSAL = (
    attention.some("not-causal", "mask-one-too-far", "mask-without-itself")
    | {"mask-inverted": attention.SHARED["upside-down"]}
    | attention.some(
        "mask-after-softmax",
        "mask-filled-with-zero",
        "mask-filled-with-a-finite-number",
        "mask-filled-with-1e9",
        "mask-not-cut",
        "mask-made-on-the-cpu",
        "length-not-checked",
        "dropout-missing",
        "dropout-in-eval",
    )
    | {
        "dropout-on-scores": shared(  # that are masked already: 0 times infinity is NaN
            attention.SHARED["dropout-on-scores"].says, DROP="F.softmax(self.dropout({SCORES}), dim=-1)"
        ),
        "dropout-on-the-output": attention.SHARED["dropout-on-the-output"],
        "dropout-on-the-output-as-well": shared(
            "Dropout acts on the output as well as on the weights: here it should act on the weights alone.",
            END="self.dropout({END})",
        ),
        "dropout-not-scaled": attention.SHARED["dropout-not-scaled"],
        "dropout-keeps-with-p": shared(
            attention.SHARED["dropout-keeps-with-p"].says, DROPOUT="nn.Dropout(1 - dropout if dropout else 0.0)"
        ),
    }
)
CAUSAL_WRITTEN_OUT = {
    "polarity-inverted": attention.SHARED["mask-inverted"],
    **{id: one for id, one in attention.MASK_BY_HAND.items() if id != "dropout-on-masked-scores"},
    "renormalised-after-dropout": shared(
        "The weights are divided by their sum after dropout, where nothing may be left of a row: `nn.Dropout` scales"
        " what is kept already.",
        DROP="F.normalize({DROP}, p=1, dim=-1)",
    ),
    "first-token-never-dropped": shared(
        "The weight of a token that sees a single one is never dropped: dropout treats all weights alike.",
        DROP="torch.where({ALLOWED}.sum(-1, keepdim=True) > 1, {DROP}, {SOFTMAX})",
    ),
    "dropout-at-most-half": shared(
        "A probability of dropout above 1/2 is cut: pass it on to `nn.Dropout` as it is.",
        DROPOUT="nn.Dropout(min(dropout, 0.5))",
    ),
    "mask-of-eight": shared(
        "The mask is made for 8 tokens, whatever the {BLOCK} is, and tokens after these see the future or are refused:"
        " make it as large as the constructor says.",
        HIDE="""far = torch.arange({N}, device={SCORES}.device) < 8
        {SCORES} = {SCORES}.masked_fill(~{ALLOWED} & far, float("-inf"))""",
    ),
}
