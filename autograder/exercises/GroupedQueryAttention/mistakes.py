"""What goes wrong in `GroupedQueryAttention(d_model, num_heads, num_kv_heads, head_dim=None, rope_base=None, …)`.

The mistakes are edits of the course's own answer, with right versions of `RMSNorm` and `apply_rope` beside it.
"""

from ...mistakes.bank import Bank
from ...mistakes.prices import PRICES
from ..families import forms, roles
from ..families.attention import mistakes as attention
from ..families.many_heads import mistakes as family
from ..families.wordings import says

BANK = Bank(
    "GroupedQueryAttention",
    places=attention.LAYERS
    | attention.OUT_LAYER
    | {
        "SHARED_EVENLY": """if num_heads % num_kv_heads:
            raise ValueError(f"{num_heads} query heads can't share {num_kv_heads} key heads evenly")""",
        "OF_KEY_HEADS": "num_heads % num_kv_heads",
        "IF_NO_WIDTH": "if head_dim is None:",
        "DIVIDES": """if d_model % num_heads:
                raise ValueError(f"d_model = {d_model} can't be divided among {num_heads} heads")""",
        "GROUP": "num_heads // num_kv_heads",
        "IF_NORMS": "if qk_norm:",
        "NORMS": "self.q_norm, self.k_norm = RMSNorm(head_dim), RMSNorm(head_dim)",
        "CHECK": "b, t, _ = x.shape  # which refuses any other number of dimensions, with a ValueError",
        "ROLES": "(self.W_query, self.W_key, self.W_value)",
        "CUT": ".unflatten(2, (-1, self.head_dim)).transpose(1, 2)",
        "NORMALISE": """if self.qk_norm:
            queries, keys = self.q_norm(queries), self.k_norm(keys)""",
        "NORMALISED": "self.q_norm(queries), self.k_norm(keys)",
        "IF_BASE": "if self.rope_base is not None:",
        "POSITIONS": "torch.arange(t, device=x.device)",
        "TURN_QUERIES": "queries = apply_rope(queries, positions, self.rope_base)",
        "TURN_KEYS": "keys = apply_rope(keys, positions, self.rope_base)",
        "TURN": """if self.rope_base is not None:
            positions = torch.arange(t, device=x.device)
            queries = apply_rope(queries, positions, self.rope_base)
            keys = apply_rope(keys, positions, self.rope_base)""",
        "SHARE_KEYS": "keys = keys.repeat_interleave(self.group, dim=1)",
        "SHARE_VALUES": "values = values.repeat_interleave(self.group, dim=1)",
        "SCALED": "queries @ keys.transpose(2, 3) / self.head_dim**0.5",
        "PRODUCT": "queries @ keys.transpose(2, 3)",
        "SCALE": " / self.head_dim**0.5",
        "TRIANGLE": "torch.ones(t, t, dtype=torch.bool, device=x.device).tril()",
        "HIDE": "scores = scores.masked_fill(~past, -torch.inf)",
        "FILL": "-torch.inf",
        "SOFTMAX": "F.softmax(scores, dim=-1)",
        "MIX": "weights @ values",
        "MERGE": "found.transpose(1, 2).flatten(2)",
        "END": "self.out_proj(found)",
        "RETURN": "return self.out_proj(found)",
        "SUPER": "super().__init__()",
    },
    words=attention.WORDS
    | attention.NAMES_001
    | {
        "QUERY": "W_query",
        "KEY": "W_key",
        "VALUE": "W_value",
        "SIZES": "d_model, num_heads * head_dim",
        "CONTEXT_SIZES": "d_model, num_kv_heads * head_dim",
        "PROJECTION": "out_proj",
        "OUT_SIZES": "num_heads * head_dim, d_model, bias=False",
        "WIDTH": "a head's width",
        "INPUT": "d_model",
        "SHAPE": "(b, t, d_model)",
        "HEADS": "queries.shape[1]",
        "FOUND": "found",
        "MERGED_SHAPE": "b, t, -1",
        "RESHAPED": ".reshape(b, -1, t, self.head_dim)",
        "FASTEST": ".unflatten(2, (self.head_dim, -1)).permute(0, 3, 1, 2)",
        "ONES": "torch.ones(t, t, dtype=torch.bool, device=x.device)",
        "ALLOWED": "past",
        "UNCHECKED": "x = x if x.dim() < 4 else x.flatten(0, 1)\n        {CHECK}",
    },
    beside=("RMSNorm", "apply_rope"),
)
mistake = BANK.mistake

# --- shared heads ---------------------------------------------------------------------------------

mistake(
    "heads-tiled",
    "These are the values you get when query head i uses key head i mod `num_kv_heads`, as `repeat` lays them out:"
    " neighbours share, as with `repeat_interleave`.",
    SHARE_KEYS="keys = keys.repeat(1, self.group, 1, 1)",
    SHARE_VALUES="values = values.repeat(1, self.group, 1, 1)",
)
mistake(
    "keys-tiled",
    "These are the values you get when the keys are laid out in another order than the values, 0 1 0 1 and not 0 0 1 1:"
    " use `repeat_interleave` for both.",
    SHARE_KEYS="keys = keys.repeat(1, self.group, 1, 1)",
)
mistake(
    "values-tiled",
    "These are the values you get when the values are laid out in another order than the keys, 0 1 0 1 and not 0 0 1 1:"
    " use `repeat_interleave` for both.",
    SHARE_VALUES="values = values.repeat(1, self.group, 1, 1)",
)
mistake(
    "first-head-for-all",
    "These are the values you get when all query heads use key head 0: each group has a key head of its own.",
    SHARE_KEYS="keys = keys[:, :1]",
    SHARE_VALUES="values = values[:, :1]",
)
mistake(
    "shared-backwards",
    "These are the values you get when the groups use the key heads in reversed order: group 0 uses head 0.",
    SHARE_KEYS="keys = keys.flip(1).repeat_interleave(self.group, dim=1)",
    SHARE_VALUES="values = values.flip(1).repeat_interleave(self.group, dim=1)",
)
mistake(
    "key-heads-averaged",
    "These are the values you get when all key heads are averaged into one: each group uses its own as it is.",
    SHARE_KEYS="keys = keys.mean(1, keepdim=True)",
    SHARE_VALUES="values = values.mean(1, keepdim=True)",
)
mistake(
    "queries-of-a-group-averaged",
    "These are the values you get when the queries of a group are averaged: only keys and values are shared, and each"
    " query head finds something of its own.",
    SHARE_KEYS="""queries = queries.unflatten(1, (-1, self.group)).mean(2).repeat_interleave(self.group, dim=1)
        {SHARE_KEYS}""",
)
mistake(
    "key-heads-not-repeated",
    "The keys and values keep their few heads, which don't fit to those of the queries: repeat each of them, or give"
    " the queries a dimension for their group.",
    SHARE_KEYS="",
    SHARE_VALUES="",
)
mistake(
    "keys-repeated-along-the-tokens",
    "The key heads are repeated along the dimension of the tokens: the heads are dimension 1 of (b, g, t, w).",
    SHARE_KEYS="keys = keys.repeat_interleave(self.group, dim=2)",
    SHARE_VALUES="values = values.repeat_interleave(self.group, dim=2)",
)
mistake(
    "repeated-once-per-key-head",
    "Each key head is repeated `num_kv_heads` times, which fits only where that is the size of a group,"
    " `num_heads // num_kv_heads`.",
    GROUP="num_kv_heads",
)
mistake(
    "key-heads-ignored",
    "`W_key` and `W_value` are as wide as `W_query`, so nothing is shared: they make `num_kv_heads` heads,"
    " num_kv_heads * head_dim features in all.",
    W_KEY="self.W_key = nn.Linear(d_model, num_heads * head_dim, bias=False)",
    W_VALUE="self.W_value = nn.Linear(d_model, num_heads * head_dim, bias=False)",
    GROUP="1",
)
mistake(
    "one-key-head",
    "There is a single key head, whatever `num_kv_heads` says: that is multi-query attention, the case of 1.",
    W_KEY="self.W_key = nn.Linear(d_model, head_dim, bias=False)",
    W_VALUE="self.W_value = nn.Linear(d_model, head_dim, bias=False)",
    GROUP="num_heads",
)
mistake(
    "group-for-key-heads",
    "`W_key` and `W_value` make as many heads as a group has members: `num_kv_heads` is the number of key heads"
    " itself.",
    W_KEY="self.W_key = nn.Linear(d_model, num_heads // num_kv_heads * head_dim, bias=False)",
    W_VALUE="self.W_value = nn.Linear(d_model, num_heads // num_kv_heads * head_dim, bias=False)",
    GROUP="num_kv_heads",
)
mistake(
    "numbers-of-heads-exchanged",
    "`num_heads` and `num_kv_heads` have changed places among the parameters: the number of query heads comes first.",
    {"d_model, num_heads, num_kv_heads, head_dim=None": "d_model, num_kv_heads, num_heads, head_dim=None"},
)

# --- the width of a head --------------------------------------------------------------------------

mistake(
    "head-dim-ignored",
    "A `head_dim` that is given is not used: the heads are d_model / num_heads wide only if it is None.",
    IF_NO_WIDTH="if True:",
)
mistake(
    "width-refused-despite-head-dim",
    "Heads that don't divide `d_model` are refused although `head_dim` is given: then nothing has to be divided.",
    IF_NO_WIDTH="""if d_model % num_heads:
            raise ValueError(f"d_model = {d_model} can't be divided among {num_heads} heads")
        {IF_NO_WIDTH}""",
)
BANK.variant(  # the numbers of its message in the other order
    "width-refused-despite-head-dim",
    IF_NO_WIDTH="""if d_model % num_heads:
            raise ValueError(f"{num_heads} heads do not divide {d_model}")
        {IF_NO_WIDTH}""",
)
mistake(
    "projection-from-d-model",
    "`out_proj` starts from d_model: it starts from num_heads * head_dim, which is how wide all heads together are.",
    OUT_LAYER="self.out_proj = nn.Linear(d_model, d_model, bias=False)",
)
mistake(
    "projection-of-the-key-heads",
    "`out_proj` starts from num_kv_heads * head_dim: there are `num_heads` heads to put together.",
    OUT_LAYER="self.out_proj = nn.Linear(num_kv_heads * head_dim, d_model, bias=False)",
)
mistake(
    "scale-by-usual-width",
    "These are the values you get when scores are divided by the root of d_model / num_heads although `head_dim` is"
    " given: it is the width of the heads as they are that counts.",
    SCALE=" / (x.shape[-1] / queries.shape[1]) ** 0.5",
)

# --- norms ----------------------------------------------------------------------------------------

mistake(
    "norms-after-the-rotation",
    "These are the values you get when queries and keys are normalised after they are turned: normalise first, else the"
    " norm's weights meet features that the rotation has mixed.",
    NORMALISE="",
    TURN="{TURN}\n        {NORMALISE}",
)
mistake(
    "norms-of-all-heads-together",
    "The norms run over all heads together: each head is normalised by itself, by `RMSNorm(head_dim)` after the cut.",
    NORMS="self.q_norm, self.k_norm = RMSNorm(num_heads * head_dim), RMSNorm(num_kv_heads * head_dim)",
    NORMALISED="""[
                norm(z.transpose(1, 2).flatten(2)).unflatten(2, (-1, self.head_dim)).transpose(1, 2)
                for norm, z in ((self.q_norm, queries), (self.k_norm, keys))
            ]""",
)
BANK.variant(  # with the weights of a head
    "norms-of-all-heads-together",
    NORMALISED="""[
                z * norm.weight / (z.square().mean((1, 3), keepdim=True) + norm.eps) ** 0.5
                for norm, z in ((self.q_norm, queries), (self.k_norm, keys))
            ]""",
)
mistake(
    "norms-missing",
    "With `qk_norm` there are no layers `q_norm` and `k_norm`: make two, each an `RMSNorm(head_dim)`.",
    NORMS="pass",
    NORMALISED="queries, keys",
)
mistake(
    "norms-never-used",
    "These are the values you get when `q_norm` and `k_norm` are made and never used.",
    NORMALISED="queries, keys",
)
mistake(
    "norms-always-made",
    "The layers `q_norm` and `k_norm` are always there: make them only if `qk_norm` is true.",
    IF_NORMS="if True:",
)
mistake(
    "norms-always-used",
    "Queries and keys are normalised without being asked for: only if `qk_norm` is true are there norms.",
    IF_NORMS="if True:",
    NORMALISE="queries, keys = self.q_norm(queries), self.k_norm(keys)",
)
mistake(
    "values-normalised",
    "These are the values you get when the values are normalised as well: only queries and keys are.",
    NORMALISE="{NORMALISE}\n            values = self.k_norm(values)",
)
mistake(
    "keys-not-normalised",
    "These are the values you get when only the queries are normalised: `k_norm` belongs on the keys.",
    NORMALISED="self.q_norm(queries), keys",
)
mistake(
    "queries-not-normalised",
    "These are the values you get when only the keys are normalised: `q_norm` belongs on the queries.",
    NORMALISED="queries, self.k_norm(keys)",
)
mistake(
    "one-norm-used-twice",
    "These are the values you get when `q_norm` normalises the keys as well: they have `k_norm`.",
    NORMALISED="self.q_norm(queries), self.q_norm(keys)",
)
mistake(
    "norms-exchanged",
    says("norms-exchanged", ONE="q_norm", OTHER="k_norm"),
    NORMALISED="self.k_norm(queries), self.q_norm(keys)",
)
mistake(
    "one-norm-for-both",
    says("one-norm-for-both", ONE="q_norm", OTHER="k_norm"),
    NORMS="self.q_norm = self.k_norm = RMSNorm(head_dim)",
)
mistake(
    "layer-norms",
    says("layer-norms", ONE="q_norm", OTHER="k_norm"),
    NORMS="self.q_norm, self.k_norm = nn.LayerNorm(head_dim), nn.LayerNorm(head_dim)",
)
mistake(
    "norms-without-weights",
    "These are the values you get when queries and keys are normalised without the weights of `q_norm` and `k_norm`:"
    " call the layers.",
    NORMALISED="[F.rms_norm(z, (self.head_dim,), eps=1e-6) for z in (queries, keys)]",
)
mistake(
    "no-scale-with-norms",
    "These are the values you get when normalised queries and keys have no scale: scores are divided by the root of a"
    " head's width with norms, too.",
    SCALE=" / (1 if self.qk_norm else self.head_dim**0.5)",
)

# --- rotation -------------------------------------------------------------------------------------

mistake(
    "never-turned",
    "These are the values you get when nothing is turned: with a `rope_base`, `apply_rope` turns queries and keys.",
    TURN="",
)
mistake(
    "base-ignored",
    says("base-ignored", BASE="rope_base"),
    TURN_QUERIES="queries = apply_rope(queries, positions)",
    TURN_KEYS="keys = apply_rope(keys, positions)",
)
mistake(
    "base-ignored-in-keys",
    "These are the values you get when `rope_base` turns the queries, and the usual 10000 the keys: pass it on twice.",
    TURN_KEYS="keys = apply_rope(keys, positions)",
)
mistake(
    "turned-without-a-base",
    "Queries and keys are turned although `rope_base` is None: then nothing is.",
    IF_BASE="self.rope_base = self.rope_base or 10000.0\n        if True:",
)
mistake(
    "none-as-a-base",
    "Without a `rope_base` it stops with an error, since `apply_rope` gets None: turn nothing then.",
    IF_BASE="if True:",
)
mistake(
    "values-turned",
    "These are the values you get when the values are turned as well: only queries and keys are.",
    TURN_KEYS="{TURN_KEYS}\n            values = apply_rope(values, positions, self.rope_base)",
)
mistake(
    "keys-not-turned",
    "These are the values you get when only the queries are turned, so that scores depend on where a query stands and"
    " not on how far a key is away: turn the keys, too.",
    TURN_KEYS="",
)
mistake(
    "queries-not-turned",
    "These are the values you get when only the keys are turned, so that scores depend on where a key stands and not on"
    " how far away it is: turn the queries, too.",
    TURN_QUERIES="",
)
mistake(
    "keys-turned-twice",
    "These are the values you get when the keys are turned twice, so that they stand at twice their position: once is"
    " enough.",
    TURN_KEYS="{TURN_KEYS}\n            {TURN_KEYS}",
)
mistake(
    "turned-before-the-cut",
    "These are the values you get when queries and keys are turned before they are cut into heads: the pairs are those"
    " of a head, so cut first.",
    TURN_QUERIES="""queries = apply_rope(queries.transpose(1, 2).flatten(2), positions, self.rope_base)
            queries = queries{CUT}""",
    TURN_KEYS="""keys = apply_rope(keys.transpose(1, 2).flatten(2), positions, self.rope_base)
            keys = keys{CUT}""",
)
mistake(
    "turned-before-the-swap",
    "Queries and keys are turned while their heads stand before the width, (b, t, heads, w), so that the positions are"
    " those of the heads: swap tokens and heads first.",
    TURN_QUERIES="queries = apply_rope(queries.transpose(1, 2), positions, self.rope_base).transpose(1, 2)",
    TURN_KEYS="keys = apply_rope(keys.transpose(1, 2), positions, self.rope_base).transpose(1, 2)",
)
mistake(
    "turned-by-the-head",
    "These are the values you get when each head is turned by its own number: the positions are those of the tokens,"
    " which should be the last dimension but one when you call `apply_rope`.",
    TURN_QUERIES="""heads = torch.arange(queries.shape[1], device=x.device)
            queries = apply_rope(queries.transpose(1, 2), heads, self.rope_base).transpose(1, 2)""",
    TURN_KEYS="""heads = torch.arange(keys.shape[1], device=x.device)
            keys = apply_rope(keys.transpose(1, 2), heads, self.rope_base).transpose(1, 2)""",
)
mistake(
    "input-turned",
    "These are the values you get when x itself is turned, before the projections: turn the queries and keys.",
    CHECK="""{CHECK}
        if self.rope_base is not None:
            x = apply_rope(x, torch.arange(t, device=x.device), self.rope_base)""",
    TURN="",
)
mistake(
    "queries-from-position-one",
    "These are the values you get when queries count positions from 1 and keys from 0: both stand at the same places.",
    TURN_QUERIES="queries = apply_rope(queries, positions + 1, self.rope_base)",
)
mistake(
    "keys-turned-backwards",
    "These are the values you get when the keys are turned the other way round, so that positions add up instead of"
    " leaving their distance: turn both in the same direction.",
    TURN_KEYS="keys = apply_rope(keys, -positions, self.rope_base)",
)
mistake(
    "half-of-a-head-turned",
    "These are the values you get when only the first half of each head is turned: all of its pairs are.",
    TURN_QUERIES="""half = self.head_dim // 2
            turned = apply_rope(queries[..., :half], positions, self.rope_base)
            queries = torch.cat([turned, queries[..., half:]], dim=-1)""",
    TURN_KEYS="""keys = torch.cat(
                [apply_rope(keys[..., :half], positions, self.rope_base), keys[..., half:]], dim=-1
            )""",
)
mistake(
    "positions-in-the-inputs-dtype",
    "The positions are made in the dtype of x, and bfloat16 has no 257: keep them whole numbers, as `torch.arange(t)`"
    " makes them.",
    POSITIONS="torch.arange(t, device=x.device, dtype=x.dtype)",
)
mistake(
    "positions-on-the-cpu",
    says("positions-on-the-cpu", X="x"),
    POSITIONS="torch.arange(t)",
)
mistake(
    "positions-of-the-first-call",
    "The positions of the first call are kept, and are too few for a longer sequence afterwards: make them in each"
    " call.",
    POSITIONS="self.__dict__.setdefault('positions', torch.arange(t, device=x.device))",
)

# --- numbers that don't fit -----------------------------------------------------------------------

mistake(
    "key-heads-not-checked",
    "A `num_kv_heads` that does not divide `num_heads` is accepted: raise a `ValueError` with both numbers.",
    SHARED_EVENLY="",
)
mistake(
    "key-heads-asserted",
    "A `num_kv_heads` that does not divide `num_heads` stops with an AssertionError: raise a `ValueError` with both"
    " numbers.",
    SHARED_EVENLY='assert num_heads % num_kv_heads == 0, f"{num_heads} and {num_kv_heads}"',
)
mistake(
    "key-heads-refused-without-numbers",
    "The `ValueError` for a `num_kv_heads` that does not divide `num_heads` should name both numbers.",
    SHARED_EVENLY='if num_heads % num_kv_heads:\n            raise ValueError("the heads can not be shared evenly")',
)
mistake(
    "divided-the-wrong-way",
    "Fewer key heads than query heads are refused: it is `num_kv_heads` that has to divide `num_heads`.",
    OF_KEY_HEADS="num_kv_heads % num_heads",
)
mistake(
    "more-key-heads-than-heads",
    "More key heads than query heads are accepted: a `num_kv_heads` above `num_heads` does not divide it either.",
    OF_KEY_HEADS="num_kv_heads <= num_heads and num_heads % num_kv_heads",
)
mistake(
    "width-not-checked",
    "Heads that don't divide `d_model` are accepted although no `head_dim` is given: raise a `ValueError` with both"
    " numbers.",
    DIVIDES="pass",
)
mistake(
    "width-asserted",
    "Heads that don't divide `d_model` stop with an AssertionError: raise a `ValueError` with both numbers.",
    DIVIDES='assert d_model % num_heads == 0, f"{d_model} and {num_heads}"',
)
mistake(
    "width-refused-without-numbers",
    "The `ValueError` for heads that don't divide `d_model` should name both numbers.",
    DIVIDES='if d_model % num_heads:\n                raise ValueError("the heads do not divide the width")',
)

# --- layers ---------------------------------------------------------------------------------------

BANK.share(attention.NO_BIASES)
mistake(
    "names-of-llama",
    says("names-of-llama", NAMES="`W_query`, `W_key`, `W_value` and `out_proj`"),
    price=PRICES["arguments"],
    W_QUERY="self.q_proj = nn.Linear({SIZES}, bias=False)",
    W_KEY="self.k_proj = nn.Linear({CONTEXT_SIZES}, bias=False)",
    W_VALUE="self.v_proj = nn.Linear({CONTEXT_SIZES}, bias=False)",
    OUT_LAYER="self.o_proj = nn.Linear({OUT_SIZES})",
    ROLES="(self.q_proj, self.k_proj, self.v_proj)",
    END="self.o_proj(found)",
)
mistake(
    "projection-with-bias",
    "`out_proj` has a bias that nobody asked for: make it with `bias=False`, as the other three.",
    OUT_LAYER="self.out_proj = nn.Linear(num_heads * head_dim, d_model)",
)
mistake(
    "no-output-projection",
    says("no-output-projection", PROJECTION="out_proj"),
    OUT_LAYER="",
    END="found",
)
BANK.share(attention.OUTPUT, "projection-never-used", edits={"projection-never-used": {"END": "found"}})

# --- as in any attention with heads ---------------------------------------------------------------

BANK.share(
    attention.IN_ANY_HEAD,
    edits={
        "layers-made-in-forward": {
            "W_QUERY": "",
            "W_KEY": "",
            "W_VALUE": "",
            "ROLES": """[
                nn.Linear(x.shape[-1], self.out_proj.in_features // shared, bias=False)
                for shared in (1, self.group, self.group)
            ]""",
        },
    },
)
OF_HEADS = dict(attention.HEADS)
for id in ("output-projection-without-bias", "one-head"):
    del OF_HEADS[id]
BANK.share(OF_HEADS)
BANK.share(attention.SHARED, "scale-by-input-width")
BANK.share(
    family.CAUSAL,
    "not-causal",
    "mask-one-too-far",
    "mask-without-itself",
    "mask-inverted",
    "mask-after-softmax",
    "mask-filled-with-zero",
    "mask-filled-with-a-finite-number",
    "mask-filled-with-1e9",
    "mask-made-on-the-cpu",
    edits={"mask-made-on-the-cpu": {"TRIANGLE": "torch.ones(t, t, dtype=torch.bool).tril()"}},
)
mistake(
    "fixed-context",
    "The mask is made once, for a fixed number of tokens, and a longer sequence does not fit: make it in `forward`, for"
    " as many tokens as come.",
    SUPER="""{SUPER}
        self.register_buffer("past", torch.ones(1024, 1024, dtype=torch.bool).tril(), persistent=False)""",
    TRIANGLE="self.past[:t, :t]",
)
BANK.variant(
    "fixed-context",
    SUPER="""{SUPER}
        self.register_buffer("past", torch.ones(64, 64, dtype=torch.bool).tril(), persistent=False)""",
    TRIANGLE="self.past[:t, :t]",
)
BANK.share(
    family.WRITTEN_OUT,
    edits={
        "first-weights-kept": {
            "ROLES": "(self.W_query, self.first_keys, self.W_value)",
            "    def forward(self, x):": """    def first_keys(self, x):
        if not hasattr(self, "kept"):
            self.kept = self.W_key.weight.detach().clone()
        return F.linear(x, self.kept)

    def forward(self, x):""",
        },
    },
)
BANK.share(
    family.CAUSAL_WRITTEN_OUT,
    "polarity-inverted",
    "mask-by-indexing",
    "mask-added-as-a-number",
    "large-number-subtracted",
    "masked-in-training-only",
    "masked-in-eval-only",
)
BANK.share(roles.of(BANK))
forms.add_to(BANK)
