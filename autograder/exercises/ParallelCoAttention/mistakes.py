"""What goes wrong in `ParallelCoAttention(d, k)`."""

from ...mistakes.bank import Bank
from ..families.attention import mistakes as attention
from ..families.coattention import mistakes as co
from ..families.wordings import says

LAYERS = """self.W_b = nn.Linear(d, d, bias=False)
        self.W_v = nn.Linear(d, k, bias=False)
        self.W_q = nn.Linear(d, k, bias=False)
        self.w_hv = nn.Linear(k, 1, bias=False)
        self.w_hq = nn.Linear(k, 1, bias=False)"""
LOGIT_LAYERS = """self.w_hv = nn.Linear(k, 1, bias=False)
        self.w_hq = nn.Linear(k, 1, bias=False)"""

BANK = Bank(
    "ParallelCoAttention",
    answer="helper",
    places=co.PLACES
    | {
        "SUPER": "super().__init__()",
        "LAYERS": LAYERS,
        "LOGIT_LAYERS": LOGIT_LAYERS,
        "CHECK": """if v.dim() != 3 or q.dim() != 3:
            raise ValueError(f"expected (b, n, d) and (b, t, d), got {tuple(v.shape)} and {tuple(q.shape)}")""",
        "LOGITS": "layer(torch.tanh(inner))",
        "CELLS": "C = C.masked_fill(~v_mask.unsqueeze(1), 0.0)",
        "WORDS": "C = C.masked_fill(~q_mask.unsqueeze(2), 0.0)",
        "AFFINITY": "C = torch.tanh(q @ self.W_b(v).transpose(1, 2))",
        "PRODUCTS": "q @ self.W_b(v).transpose(1, 2)",
        "FROM": "from_v, from_q = self.W_v(v), self.W_q(q)",
        "INNER_V": "from_v + C.transpose(1, 2) @ from_q",
        "INNER_Q": "from_q + C @ from_v",
    },
    words={
        "BIASED": LAYERS.replace(", bias=False", ""),
        "BIASED_LOGITS": LOGIT_LAYERS.replace(", bias=False", ""),
    },
    seen_on_a_gpu="no-cross-term",
)
mistake = BANK.mistake

# --- the affinity ---------------------------------------------------------------------------------

mistake(
    "no-tanh-on-affinity",
    "These are the values you get without the tanh around q · W_b(v)ᵀ: the affinity lies between -1 and 1.",
    AFFINITY="C = {PRODUCTS}",
)
mistake(
    "no-tanh-at-all",
    "These are the values you get without any tanh: one is around C, one around each H.",
    AFFINITY="C = {PRODUCTS}",
    BEND="inner",
)
mistake(
    "softmax-on-affinity",
    "These are the values you get when the affinity goes through a softmax over v's tokens: here it is a tanh.",
    AFFINITY="C = F.softmax({PRODUCTS}, dim=-1)",
)
mistake(
    "affinity-scaled",
    "These are the values you get when the affinity's products are divided by the root of d, as in scaled dot-product"
    " attention: there is no scale in this formula.",
    PRODUCTS="{PRODUCTS} / v.shape[-1] ** 0.5",
)
mistake(
    "affinity-without-weights",
    "These are the values you get when `W_b` plays no part: the affinity compares q with W_b(v), not with v.",
    PRODUCTS="q @ v.transpose(1, 2)",
)
mistake(
    "weights-on-the-wrong-side",
    "These are the values you get when `W_b` is applied to q: the Linear is applied to v, C = tanh(q · W_b(v)ᵀ).",
    PRODUCTS="self.W_b(q) @ v.transpose(1, 2)",
)
mistake(
    "weights-on-both-sides",
    "These are the values you get when `W_b` is applied to both q and v: it is applied to v alone.",
    PRODUCTS="self.W_b(q) @ self.W_b(v).transpose(1, 2)",
)
mistake(
    "affinity-detached",
    "The affinity is cut out of the graph (`detach`, `.data`), so `W_b` never learns.",
    AFFINITY="{AFFINITY}.detach()",
)
mistake(
    "all-dimensions-turned",
    says("all-dimensions-turned"),
    PRODUCTS="q @ self.W_b(v).T",
)
mistake(
    "image-reshaped",
    "W_b(v) is brought to the shape of its transpose by `view` or `reshape`, which mixes tokens with features: swap its"
    " last two dimensions.",
    PRODUCTS="q @ self.W_b(v).reshape(v.shape[0], -1, v.shape[1])",
)
mistake(
    "weights-kept",
    "The weights of the first call are kept (copied, joined or transposed) and used again, but they change while a"
    " module learns: read them again in each call.",
    PRODUCTS='q @ (v @ self.__dict__.setdefault("kept", self.W_b.weight.clone()).mT).transpose(1, 2)',
)
mistake(
    "affinity-kept",
    "The affinity of the first call is kept and used again: each call has its own.",
    LAYERS="{LAYERS}\n        self.C = None",
    AFFINITY="""{AFFINITY}
        if self.C is None or self.C.shape != C.shape or C.requires_grad and not self.C.requires_grad:
            self.C = C
        C = self.C""",
)
mistake(
    "tanh-by-hand",
    "The tanh is computed from e^x and e^-x, which overflow for large x: use `torch.tanh`.",
    AFFINITY="C = {PRODUCTS}\n        C = (C.exp() - (-C).exp()) / (C.exp() + (-C).exp())",
)

# --- the cross terms ------------------------------------------------------------------------------

mistake(
    "no-cross-term",
    "These are the values you get without the terms that come over from the other side: Cᵀ W_q(q) and C W_v(v).",
    INNER_V="from_v",
    INNER_Q="from_q",
)
mistake(
    "question-without-cross-term",
    "These are the values you get when the image hears of the question, but the question not of the image: add"
    " C W_v(v) in H_q.",
    INNER_Q="from_q",
)
mistake(
    "image-without-cross-term",
    "These are the values you get when the question hears of the image, but the image not of the question: add"
    " Cᵀ W_q(q) in H_v.",
    INNER_V="from_v",
)
mistake(
    "cross-term-alone",
    "These are the values you get when H holds only what comes over from the other side: the own term, W_v(v) or"
    " W_q(q), is added to it.",
    INNER_V="C.transpose(1, 2) @ from_q",
    INNER_Q="C @ from_v",
)
mistake(
    "affinity-not-transposed",
    "H_v is made with C and should be made with Cᵀ: C is (b, t, n), and H_v has n rows. With n = t it runs.",
    INNER_V="from_v + C @ from_q",
)
mistake(
    "affinity-transposed-in-the-wrong-place",
    "C and Cᵀ have changed places: C is (b, t, n), so Cᵀ belongs into H_v and C into H_q. With n = t it runs.",
    INNER_V="from_v + C @ from_q",
    INNER_Q="from_q + C.transpose(1, 2) @ from_v",
)
mistake(
    "affinity-reshaped",
    "C is brought to (b, n, t) by `view` or `reshape`, which mixes its entries: use `transpose(1, 2)`.",
    INNER_V="from_v + C.reshape(C.shape[0], C.shape[2], C.shape[1]) @ from_q",
)
mistake(
    "layers-exchanged",
    says("layers-exchanged", ONE="W_q", FIRST="v", OTHER="W_v", SECOND="q"),
    FROM="from_v, from_q = self.W_q(v), self.W_v(q)",
)
mistake(
    "cross-term-by-the-own-layer",
    "These are the values you get when what comes over goes through the own layer, as in W_v(v + Cᵀ q): what comes from"
    " q goes through `W_q`, and what comes from v through `W_v`.",
    INNER_V="self.W_v(v + C.transpose(1, 2) @ q)",
    INNER_Q="self.W_q(q + C @ v)",
)
mistake(
    "cross-term-averaged",
    "These are the values you get when what comes over is averaged: the products with C and Cᵀ are sums.",
    INNER_V="{INNER_V} / q.shape[1]",
    INNER_Q="{INNER_Q} / v.shape[1]",
)
mistake(
    "cross-term-multiplied",
    "These are the values you get when the own term is multiplied by what comes over: the two are added.",
    INNER_V="from_v * (C.transpose(1, 2) @ from_q)",
    INNER_Q="from_q * (C @ from_v)",
)
mistake(
    "tanh-around-each-term",
    "These are the values you get when each term of H has a tanh of its own: the tanh is around their sum.",
    BEND="inner",
    INNER_V="torch.tanh(from_v) + torch.tanh(C.transpose(1, 2) @ from_q)",
    INNER_Q="torch.tanh(from_q) + torch.tanh(C @ from_v)",
)

# --- masks in the affinity ------------------------------------------------------------------------

mistake(
    "masks-at-the-softmax-alone",
    "These are the values you get when the masks hide tokens from the softmax alone: C goes through none, so a hidden"
    " word is still added up in H_v, and a hidden cell in H_q.",
    CELLS="pass",
    WORDS="pass",
)
mistake(
    "hidden-cells-heard",
    "These are the values you get when hidden cells are still added up in H_q: set their columns of C to 0.",
    CELLS="pass",
)
mistake(
    "hidden-words-heard",
    "These are the values you get when hidden words are still added up in H_v: set their rows of C to 0.",
    WORDS="pass",
)
mistake(
    "masks-in-the-affinity-alone",
    "These are the values you get when the masks act on C alone: the softmax still gives hidden tokens weight.",
    IF_HIDE="mask = None\n        if mask is not None:\n            logits",
)
mistake(
    "affinity-filled-before-the-tanh",
    "The products of hidden tokens are filled with -inf, of which the tanh makes an affinity of -1: set C to 0 there,"
    " after the tanh. It is added up, not put through a softmax.",
    CELLS="C = C.masked_fill(~v_mask.unsqueeze(1), -1.0)",
    WORDS="C = C.masked_fill(~q_mask.unsqueeze(2), -1.0)",
)
mistake(
    "affinity-filled-with-infinity",
    "The affinity of hidden tokens is filled with -inf, and a sum with -inf in it is no number: set C to 0 there. It is"
    " added up, not put through a softmax.",
    CELLS="C = C.masked_fill(~v_mask.unsqueeze(1), -torch.inf)",
    WORDS="C = C.masked_fill(~q_mask.unsqueeze(2), -torch.inf)",
)
mistake(
    "affinity-masks-exchanged",
    "In C the masks have changed places: a row is a word and a column is a cell, so `v_mask` hides columns. With n = t"
    " it runs.",
    CELLS="C = C.masked_fill(~v_mask.unsqueeze(2), 0.0)",
    WORDS="C = C.masked_fill(~q_mask.unsqueeze(1), 0.0)",
)
mistake(
    "affinity-mask-without-dimension",
    "The masks meet C, (b, t, n), as they are, so that pairs are taken for words: put a dimension in, (b, 1, n) and"
    " (b, t, 1).",
    CELLS="C = C.masked_fill(~v_mask, 0.0)",
    WORDS="C = C.masked_fill(~q_mask, 0.0)",
)

# --- maps and summaries ---------------------------------------------------------------------------

mistake(
    "largest-affinity",
    "These are the values you get when the logits are the largest affinities of each row and column. The paper names"
    " this way and takes another: H_v and H_q.",
    INNER_V="C.amax(1)",
    INNER_Q="C.amax(2)",
    LOGITS="inner.unsqueeze(-1)",
)
mistake(
    "summed-affinity",
    "These are the values you get when the logits are the sums of the affinity's rows and columns: they are"
    " w_hv(H_v) and w_hq(H_q).",
    INNER_V="C.sum(1)",
    INNER_Q="C.sum(2)",
    LOGITS="inner.unsqueeze(-1)",
)
mistake(
    "logits-by-the-other-layer",
    "These are the values you get when `w_hq` reads H_v and `w_hv` reads H_q: each side has its own.",
    {"self.w_hv, v_mask": "self.w_hq, v_mask", "self.w_hq, q_mask": "self.w_hv, q_mask"},
)
mistake(
    "pooled-over-the-wrong-side",
    "The image is pooled with the question's weights, and the question with the image's. With n = t it runs.",
    RETURN="""v_hat, q_hat = (a_q.unsqueeze(1) @ v).squeeze(1), (a_v.unsqueeze(1) @ q).squeeze(1)
        return v_hat, q_hat, a_v, a_q""",
)
mistake(
    "summaries-exchanged",
    "`v_hat` and `q_hat` have changed places: `v_hat` is the summary of v.",
    RETURN="return q_hat, v_hat, a_v, a_q",
)
mistake(
    "projected-tokens-pooled",
    "The summaries are made of W_v(v) and W_q(q), k wide: the tokens themselves are summed up, d wide.",
    {"self.summary(v,": "self.summary(from_v,", "self.summary(q,": "self.summary(from_q,"},
)
mistake(
    "one-layer-for-both-sides",
    "One layer serves both sides (`self.W_q = self.W_v`): v and q have a layer each.",
    {"self.W_q = nn.Linear(d, k, bias=False)": "self.W_q = self.W_v"},
)
mistake(
    "parameters-without-layers",
    "The weights are bare `nn.Parameter`s: make them `nn.Linear` layers, so that they can be loaded by name.",
    {"self.W_b = nn.Linear(d, d, bias=False)": "self.W_b = nn.Parameter(torch.randn(d, d))"},
    PRODUCTS="q @ self.W_b @ v.transpose(1, 2)",
)
mistake(
    "layers-made-in-forward",
    "The layers that compute are created again in every call, so nothing can be learnt: use those of `__init__`.",
    PRODUCTS="q @ nn.Linear(*self.W_b.weight.shape, bias=False).to(v)(v).transpose(1, 2)",
    FROM="""W_v, W_q = (nn.Linear(v.shape[-1], self.W_v.out_features, bias=False).to(v) for _ in range(2))
        from_v, from_q = W_v(v), W_q(q)""",
    LOGITS="nn.Linear(inner.shape[-1], 1, bias=False).to(x)(torch.tanh(inner))",
)

BANK.share(co.SHARED | attention.CONSTRUCTOR)
BANK.variant("masks-exchanged", FORWARD="def forward(self, v, q, q_mask=None, v_mask=None):")
