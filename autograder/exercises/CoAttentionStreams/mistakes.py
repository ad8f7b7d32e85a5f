"""What goes wrong in `CoAttentionStreams(d, num_heads)`, and in the `MultiHeadCrossAttention` that it is made of."""

from ...mistakes.bank import Bank
from ...mistakes.prices import ALL, HALF
from ..families import forms
from ..families.attention import mistakes as attention
from ..families.cross import mistakes as cross
from ..families.wordings import says

BANK = Bank(
    "CoAttentionStreams",
    answer="step_by_step",
    places=cross.PLACES_OF_HEADS
    | {
        "V_TO_Q": "self.v_to_q = MultiHeadCrossAttention(d, d, d, num_heads)",
        "Q_TO_V": "self.q_to_v = MultiHeadCrossAttention(d, d, d, num_heads)",
        "NEW_V": "self.v_to_q(v, q, q_mask)",
        "NEW_Q": "self.q_to_v(q, v, v_mask)",
        "BEFORE": "new_v = self.v_to_q(v, q, q_mask)",
        "RETURN": "return new_v, new_q",
    },
    words=cross.WORDS_OF_HEADS,
)
mistake = BANK.mistake

# --- who reads what -------------------------------------------------------------------------------

mistake(
    "question-reads-the-new-image",
    "These are the values you get when `q_to_v` reads the new v: both read the inputs as they came in.",
    NEW_Q="self.q_to_v(q, new_v, v_mask)",
)
mistake(
    "image-reads-the-new-question",
    "These are the values you get when `v_to_q` reads the new q: both read the inputs as they came in.",
    NEW_V="self.v_to_q(v, self.q_to_v(q, v, v_mask), q_mask)",
)
mistake(
    "modules-exchanged",
    "These are the values you get when `v_to_q` makes the new q and `q_to_v` the new v: `v_to_q` has v's queries.",
    NEW_V="self.q_to_v(v, q, q_mask)",
    NEW_Q="self.v_to_q(q, v, v_mask)",
)
mistake(
    "queries-from-the-context",
    "`v_to_q` gets its queries from q and its context from v, and `q_to_v` the other way round: the new v has a row per"
    " token of v. With n = t it runs.",
    NEW_V="self.v_to_q(q, v, v_mask)",
    NEW_Q="self.q_to_v(v, q, q_mask)",
)
mistake(
    "self-attention",
    "These are the values you get when each side attends to itself: the context is the other side.",
    NEW_V="self.v_to_q(v, v, v_mask)",
    NEW_Q="self.q_to_v(q, q, q_mask)",
)
mistake(
    "both-sides-as-context",
    "These are the values you get when each side attends to both sides together: the context is the other side alone.",
    BEFORE="""v_seen = torch.ones_like(v[..., 0], dtype=torch.bool) if v_mask is None else v_mask
        q_seen = torch.ones_like(q[..., 0], dtype=torch.bool) if q_mask is None else q_mask
        both, seen = torch.cat([v, q], 1), torch.cat([v_seen, q_seen], 1)
        new_v = self.v_to_q(v, both, seen)""",
    NEW_Q="self.q_to_v(q, both, seen)",
)
mistake(
    "question-left-as-it-is",
    "The question is returned as it came in: `q_to_v` makes a new q of it.",
    price=HALF,
    NEW_Q="q",
)
mistake(
    "image-left-as-it-is", "The image is returned as it came in: `v_to_q` makes a new v of it.", price=HALF, NEW_V="v"
)
mistake(
    "residual-added",
    "These are the values you get when the inputs are added to what attention returns: there is no residual here.",
    RETURN="return v + new_v, q + new_q",
)
mistake(
    "normalised",
    says("normalised"),
    RETURN="return F.layer_norm(new_v, v.shape[-1:]), F.layer_norm(new_q, q.shape[-1:])",
)
mistake(
    "streams-exchanged",
    "The two streams are returned in the wrong order: the new v comes first.",
    RETURN="return new_q, new_v",
)
mistake(
    "nothing-returned",
    says("nothing-returned", WHAT="`new_v, new_q`"),
    price=ALL,
    RETURN="new_v, new_q",
)
mistake(
    "streams-joined",
    "The two streams are returned as one tensor: return the pair `(new v, new q)`.",
    RETURN="return torch.cat([new_v, new_q], 1)",
)
mistake(
    "streams-pooled",
    "The streams are averaged over their tokens: here they stay sequences, (b, n, d) and (b, t, d).",
    RETURN="return new_v.mean(1), new_q.mean(1)",
)
mistake(
    "context-detached",
    says("context-detached"),
    NEW_V="self.v_to_q(v, q.detach(), q_mask)",
    NEW_Q="self.q_to_v(q, v.detach(), v_mask)",
)

# --- the modules ----------------------------------------------------------------------------------

mistake(
    "the-same-module-twice",
    "`v_to_q` and `q_to_v` are one and the same module: make two.",
    Q_TO_V="self.q_to_v = self.v_to_q",
)
mistake(
    "one-module-for-both",
    "These are the values you get when `v_to_q` makes both streams and `q_to_v` none: each has its own.",
    NEW_Q="self.v_to_q(q, v, v_mask)",
)
mistake(
    "heads-ignored",
    "These are the values you get with a single head: pass `num_heads` on to both modules.",
    V_TO_Q="""if d % num_heads != 0:
            raise ValueError(f"num_heads={num_heads} does not divide d={d}")
        self.v_to_q = MultiHeadCrossAttention(d, d, d, 1)""",
    Q_TO_V="self.q_to_v = MultiHeadCrossAttention(d, d, d, 1)",
)
mistake(
    "heads-for-one-alone",
    "`q_to_v` has a single head: pass `num_heads` on to both modules.",
    Q_TO_V="self.q_to_v = MultiHeadCrossAttention(d, d, d, 1)",
)
mistake(
    "biases-asked-for",
    "The modules are made with `qkv_bias=True`: only `out_proj` has a bias here.",
    V_TO_Q="self.v_to_q = MultiHeadCrossAttention(d, d, d, num_heads, qkv_bias=True)",
    Q_TO_V="self.q_to_v = MultiHeadCrossAttention(d, d, d, num_heads, qkv_bias=True)",
)

# --- masks ----------------------------------------------------------------------------------------

mistake(
    "masks-exchanged",
    says("masks-exchanged"),
    NEW_V="self.v_to_q(v, q, v_mask)",
    NEW_Q="self.q_to_v(q, v, q_mask)",
)
mistake(
    "masks-ignored",
    says("masks-ignored"),
    NEW_V="self.v_to_q(v, q)",
    NEW_Q="self.q_to_v(q, v)",
)
mistake(
    "image-mask-ignored",
    says("image-mask-ignored"),
    NEW_Q="self.q_to_v(q, v)",
)
mistake(
    "question-mask-ignored",
    says("question-mask-ignored"),
    NEW_V="self.v_to_q(v, q)",
)
mistake(
    "masks-inverted",
    says("masks-inverted"),
    ALLOWED="~{ALLOWED}",
)
mistake(
    "one-mask-needs-the-other",
    "A mask plays a part only if the other one is given as well: either may come alone.",
    BEFORE="if v_mask is None or q_mask is None:\n            v_mask = q_mask = None\n        {BEFORE}",
)
mistake(
    "hidden-queries-cleared",
    "The new vectors of hidden tokens are set to 0: a mask hides a token from the other side, and it still gets its own"
    " new vector.",
    RETURN="""if v_mask is not None:
            new_v = new_v * v_mask.unsqueeze(-1)
        if q_mask is not None:
            new_q = new_q * q_mask.unsqueeze(-1)
        return new_v, new_q""",
)
mistake(
    "hidden-tokens-set-to-zero",
    says("hidden-tokens-set-to-zero", SCORED="scores"),
    NEW_V="self.v_to_q(v, q if q_mask is None else q * q_mask.unsqueeze(-1))",
    NEW_Q="self.q_to_v(q, v if v_mask is None else v * v_mask.unsqueeze(-1))",
)
mistake(
    "masks-must-be-there",
    "Without masks it stops with an error: `v_mask` and `q_mask` may both be None.",
    {"v_mask=None, q_mask=None": "v_mask, q_mask"},
)
mistake(
    "bias-lost-where-nothing-is-left",
    says("bias-lost-where-nothing-is-left"),
    RETURN="""if q_mask is not None:
            new_v = new_v * q_mask.any(1)[:, None, None]
        if v_mask is not None:
            new_q = new_q * v_mask.any(1)[:, None, None]
        return new_v, new_q""",
)
mistake(
    "masks-kept",
    "The masks of an earlier call are kept and used when none is given: each call has its own.",
    V_TO_Q="{V_TO_Q}\n        self.v_mask = self.q_mask = None",
    BEFORE="""self.v_mask = self.v_mask if v_mask is None else v_mask
        self.q_mask = self.q_mask if q_mask is None else q_mask
        new_v = self.v_to_q(v, q, self.q_mask)""",
    NEW_Q="self.q_to_v(q, v, self.v_mask)",
)

# --- the rest -------------------------------------------------------------------------------------

mistake(
    "masks-changed",
    "The masks are changed in place: make new ones, as in `~mask`.",
    ALLOWED="~context_mask.logical_not_()[:, None, None, :]",
)

# --- a wrong MultiHeadCrossAttention --------------------------------------------------------------

BANK.share(
    attention.PROJECTIONS | cross.OF_HEADS,
    "keys-from-queries",
    "values-from-queries",
    "keys-as-values",
    "keys-from-x",
    "values-from-x",
    "no-scale",
    "scale-without-root",
    "scale-by-all-heads",
    "softmax-over-queries",
    "softmax-over-heads",
    "exp-without-max",
    "reshaped-in-one-step",
    "fast-head-index",
    "output-projection-without-bias",
    "weights-detached",
    "values-detached",
    "float32-comes-out",
    "scale-tensor-on-the-cpu",
    "rank-not-checked",
    "indivisible-floored",
    "error-without-numbers",
    "context-mask-hides-queries",
    "context-mask-of-the-first",
    "context-mask-after-softmax",
    "context-mask-filled-with-zero",
    "context-mask-filled-with-a-finite-number",
    "asks-what-the-mask-holds",
    "nothing-left-is-nan",
    "nothing-left-is-averaged",
    "nan-patched-in-output",
    "squeezed",
    "view-of-the-input",
    "input-changed",
    # all of what beginners write but what the streams make of it in other ways, and what cannot be told from it
    *(id for id in cross.WRITTEN if id not in ("one-max-for-all-rows", "mask-of-the-call-before")),
    within="MultiHeadCrossAttention",
)
forms.add_to(BANK)
