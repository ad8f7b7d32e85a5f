"""Mistakes in both forms of co-attention with two maps, as edits of answers that have `PLACES` in common.

Each answer adds its own places `LAYERS` (all lines that make layers), `LOGIT_LAYERS` (those of the logits), `LOGITS`
(what makes them, with a last dimension of 1) and `CHECK`, and the words `BIASED` and `BIASED_LOGITS` for these layers
with biases.
"""

from ....mistakes.bank import shared
from ....mistakes.prices import ALL
from ....mistakes.signs import multiplies_infinity
from ..attention import mistakes as attention
from ..wordings import says

PLACES = {
    "FORWARD": "def forward(self, v, q, v_mask=None, q_mask=None):",
    "RANKS": "v.dim() != 3 or q.dim() != 3",
    "BEND": "torch.tanh(inner)",
    "IF_HIDE": "if mask is not None:\n            logits",
    "FILLED": "logits.masked_fill(~mask.unsqueeze(-1), torch.finfo(logits.dtype).min)",
    "FILL": "torch.finfo(logits.dtype).min",
    "HIDDEN": "~mask.unsqueeze(-1)",
    "WEIGH": "a = F.softmax(logits.squeeze(-1), dim=-1)",
    "CLEARED": "a.masked_fill(~mask, 0.0)",
    "POOL": "(a.unsqueeze(1) @ x).squeeze(1)",
    "RETURN": "return v_hat, q_hat, a_v, a_q",
}

SHARED = {
    # the tanh
    "no-tanh-on-hidden": shared(
        "These are the values you get without the tanh around the sum in H: it belongs there, before the logits.",
        BEND="inner",
    ),
    "relu-for-tanh": shared(
        "These are the values you get with a ReLU around the sum in H: here it is a tanh.", BEND="F.relu(inner)"
    ),
    "sigmoid-for-tanh": shared(
        "These are the values you get with a sigmoid around the sum in H: here it is a tanh.",
        BEND="torch.sigmoid(inner)",
    ),
    # the softmax
    "softmax-over-batch": shared(
        "These are the values you get when the softmax runs over the batch: check `dim`, the weights of the tokens of"
        " one input sum to 1.",
        WEIGH="a = F.softmax(logits.squeeze(-1), dim=0)",
    ),
    "softmax-over-one": shared(
        "Every weight is 1: the softmax runs over the last dimension of logits of shape (b, n, 1), which has one entry."
        " Let it run over the tokens.",
        WEIGH="a = F.softmax(logits, dim=-1).squeeze(-1)",
    ),
    "softmax-over-everything": shared(
        "These are the values you get when the softmax runs over the tokens of the whole batch together: those of one"
        " input should sum to 1.",
        WEIGH="a = F.softmax(logits.flatten(), dim=0).view(x.shape[:2])",
    ),
    "no-softmax": shared(
        says("no-softmax", SCORED="logits"),
        WEIGH="a = logits.squeeze(-1)",
    ),
    "sigmoid-weights": shared(
        says("sigmoid-weights"),
        WEIGH="a = torch.sigmoid(logits.squeeze(-1))",
    ),
    "logits-scaled": shared(
        "These are the values you get when the logits are divided by the root of k: there is no scale in this formula.",
        LOGITS="{LOGITS} / inner.shape[-1] ** 0.5",
    ),
    "tanh-on-logits": shared(
        "These are the values you get with a tanh around the logits as well: the softmax takes them as they are.",
        LOGITS="torch.tanh({LOGITS})",
    ),
    "exp-without-max": shared(
        says("exp-without-max", SCORED="logits"),
        WEIGH="a = logits.squeeze(-1).exp()\n        a = a / a.sum(-1, keepdim=True)",
    ),
    "one-max-for-all-rows": shared(
        says("one-max-for-all-rows", SCORED="logits"),
        WEIGH="""a = logits.squeeze(-1)
        a = (a - a.max()).exp() / (a - a.max()).exp().sum(-1, keepdim=True)""",
    ),
    "max-used-as-a-tensor": shared(
        attention.MAX_AS_A_TENSOR,
        WEIGH="""a = logits.squeeze(-1)
        a = (a - a.max(-1, keepdim=True)).exp()
        a = a / a.sum(-1, keepdim=True)""",
    ),
    "sum-subtracted": shared(
        says("sum-subtracted"),
        WEIGH="a = logits.squeeze(-1).exp()\n        a = a - a.sum(-1, keepdim=True)",
    ),
    "epsilon-in-the-sum": shared(
        says("epsilon-in-the-sum"),
        WEIGH="""a = logits.squeeze(-1)
        a = (a - a.amax(-1, keepdim=True)).exp()
        a = a / (a.sum(-1, keepdim=True) + 1e-6)""",
    ),
    "small-epsilon-in-the-sum": shared(
        says("epsilon-in-the-sum"),
        WEIGH="""a = logits.squeeze(-1)
        a = (a - a.amax(-1, keepdim=True)).exp()
        a = a / (a.sum(-1, keepdim=True) + 1e-8)""",
    ),
    "softmax-in-float32": shared(
        says("softmax-in-float32"),
        WEIGH="a = F.softmax(logits.squeeze(-1).float(), dim=-1).to(x.dtype)",
    ),
    "softmax-left-in-float32": shared(
        says("softmax-left-in-float32"),
        WEIGH="a = F.softmax(logits.squeeze(-1), dim=-1, dtype=torch.float32)",
    ),
    "logits-squeezed": shared(
        "`squeeze()` without a number drops every dimension of size 1 of the logits, also a batch of one or a single"
        " token: it is `squeeze(-1)`.",
        WEIGH="a = F.softmax(logits.squeeze(), dim=-1)",
    ),
    # pooling and returning
    "weights-without-a-dimension": shared(
        "The weights (b, n) meet the tokens (b, n, d) as they are, and don't fit: give them a last dimension of size 1"
        " before you multiply.",
        POOL="(a * x).sum(1)",
    ),
    "pooled-over-features": shared(
        "The weighted tokens are added up over their features: the sum runs over the tokens, `sum(1)`.",
        POOL="(a.unsqueeze(-1) * x).sum(-1)",
    ),
    "mean-pooling": shared(
        "The summaries are plain averages of the tokens: each token counts as much as its weight says.",
        price=ALL,
        POOL="x.mean(1)",
    ),
    "weighted-mean": shared(
        "The weighted sums are divided by the number of tokens: the weights sum to 1 already.",
        POOL="(a.unsqueeze(-1) * x).mean(1)",
    ),
    "most-attended-token": shared(
        "The summaries are the single token with the largest weight: all tokens belong into the sum, by their weights.",
        POOL="x[torch.arange(len(x), device=x.device), a.argmax(1)]",
    ),
    "mean-added": shared(
        "The plain average of the tokens is added to each summary: nothing is added here.", POOL="{POOL} + x.mean(1)"
    ),
    "tokens-not-summed": shared(
        "The summaries still have a row per token: the weighted tokens should be added up.",
        POOL="a.unsqueeze(-1) * x",
    ),
    "summaries-alone": shared(
        "Only the summaries are returned: the weights are wanted too, as `(v_hat, q_hat, a_v, a_q)`.",
        RETURN="return v_hat, q_hat",
    ),
    "nothing-returned": shared(
        says("nothing-returned", WHAT="`v_hat, q_hat, a_v, a_q`"),
        price=ALL,
        RETURN="v_hat, q_hat, a_v, a_q",
    ),
    "weights-squeezed": shared(
        "`squeeze` without a number drops every dimension of size 1 of the weights, also a batch of one or a single"
        " token: it is `squeeze(-1)`.",
        RETURN="return v_hat, q_hat, a_v.squeeze(), a_q.squeeze()",
    ),
    "question-first": shared(
        "The outputs come in another order: v's before q's, `(v_hat, q_hat, a_v, a_q)`.",
        RETURN="return q_hat, v_hat, a_q, a_v",
    ),
    "weights-first": shared(
        "The outputs come in another order: the summaries before the weights, `(v_hat, q_hat, a_v, a_q)`.",
        RETURN="return a_v, a_q, v_hat, q_hat",
    ),
    "side-by-side": shared(
        "The outputs come in another order: both summaries, then both weights, `(v_hat, q_hat, a_v, a_q)`.",
        RETURN="return v_hat, a_v, q_hat, a_q",
    ),
    "weights-exchanged": shared(
        "`a_v` and `a_q` have changed places: the order is `(v_hat, q_hat, a_v, a_q)`.",
        RETURN="return v_hat, q_hat, a_q, a_v",
    ),
    "weights-keep-a-dimension": shared(
        "The weights are returned as (b, n, 1) and (b, t, 1): `squeeze(-1)` drops the last dimension.",
        RETURN="return v_hat, q_hat, a_v.unsqueeze(-1), a_q.unsqueeze(-1)",
    ),
    "summaries-keep-a-dimension": shared(
        "The summaries are returned as (b, 1, d): `squeeze(1)` drops the dimension in the middle.",
        RETURN="return v_hat.unsqueeze(1), q_hat.unsqueeze(1), a_v, a_q",
    ),
    "inputs-exchanged": shared(
        "The inputs have changed places in `forward`: v, the image, comes first.",
        FORWARD="def forward(self, q, v, q_mask=None, v_mask=None):",
    ),
    # parameters
    "bias-everywhere": shared(says("bias-everywhere"), LAYERS="{BIASED}"),
    "logits-with-a-bias": shared(
        "The layers that make the logits have a bias: it moves all logits alike and changes no weight, so it can't"
        " learn. Make them with `bias=False`.",
        LOGIT_LAYERS="{BIASED_LOGITS}",
    ),
    # gradients, dtypes, devices, arguments
    "weights-detached": shared(
        attention.SHARED["weights-detached"].says,
        WEIGH="{WEIGH}.detach()",
    ),
    "tokens-detached": shared(
        "The tokens are cut out of the graph (`detach`, `.data`) where they are summed up.",
        POOL="(a.unsqueeze(1) @ x.detach()).squeeze(1)",
    ),
    "float32-comes-out": shared(
        attention.SHARED["float32-comes-out"].says,
        RETURN="return v_hat.float(), q_hat.float(), a_v.float(), a_q.float()",
    ),
    "sums-made-on-the-cpu": shared(
        "The summaries are collected in a tensor that is made on the CPU: make it on the input's device, or let"
        " products and `sum` make it.",
        POOL="torch.zeros(x.shape[0], x.shape[2], dtype=x.dtype) + {POOL}",
    ),
    "rank-not-checked": shared(
        says("rank-not-checked", WHAT="a v or a q of another rank", DIMS="`v.dim()` and `q.dim()`"),
        CHECK="",
    ),
    "rank-refused-by-assert": shared(
        "An assertion refuses what has a wrong rank: raise a `ValueError`, which whoever calls can tell from others.",
        CHECK="assert v.dim() == 3 and q.dim() == 3",
    ),
    "only-v-is-checked": shared(
        "Only v's rank is looked at: a q of another rank should raise a `ValueError` as well.", RANKS="v.dim() != 3"
    ),
    "squeezed": shared(
        attention.SHARED["squeezed"].says,
        RETURN="return v_hat.squeeze(), q_hat.squeeze(), a_v.squeeze(), a_q.squeeze()",
    ),
    "view-of-the-input": shared(
        attention.SHARED["view-of-the-input"].says,
        CHECK="""{CHECK}
        v = v.view(-1, v.shape[-1]).view(v.shape)
        q = q.view(-1, q.shape[-1]).view(q.shape)""",
    ),
    "inputs-changed": shared(
        "The inputs are changed in place (`v *= …`, `q.mul_(…)`): make new tensors.",
        CHECK="""{CHECK}
        if not v.requires_grad:
            v, q = v.mul_(0.5) * 2, q.mul_(0.5) * 2""",
    ),
}

# --- masks ----------------------------------------------------------------------------------------

NONE_USED = (
    "Without masks `v_mask` and `q_mask` are None, which is used here as if it were a tensor: look whether a mask is"
    " None before anything is done with it."
)
MASKS = {
    "masks-not-taken": shared(
        "`forward` takes no masks: it is `forward(v, q, v_mask=None, q_mask=None)`.",
        FORWARD="def forward(self, v, q):\n        v_mask = q_mask = None",
    ),
    "masks-ignored": shared(
        says("masks-ignored"),
        FORWARD="{FORWARD}\n        v_mask = q_mask = None",
    ),
    "image-mask-ignored": shared(
        says("image-mask-ignored"),
        FORWARD="{FORWARD}\n        v_mask = None",
    ),
    "question-mask-ignored": shared(
        says("question-mask-ignored"),
        FORWARD="{FORWARD}\n        q_mask = None",
    ),
    "masks-exchanged": shared(
        says("masks-exchanged"),
        FORWARD="{FORWARD}\n        v_mask, q_mask = q_mask, v_mask",
    ),
    "masks-inverted": shared(
        says("masks-inverted"),
        FORWARD="{FORWARD}\n        v_mask, q_mask = (None if mask is None else ~mask for mask in (v_mask, q_mask))",
    ),
    "one-mask-needs-the-other": shared(
        "A mask plays a part only if the other one is given as well: either may come alone.",
        FORWARD="{FORWARD}\n        if v_mask is None or q_mask is None:\n            v_mask = q_mask = None",
    ),
    "masks-must-be-there": shared(
        "Without masks it stops with an error: `v_mask` and `q_mask` may both be None.",
        FORWARD="def forward(self, v, q, v_mask, q_mask):",
    ),
    "mask-none-unsqueezed": shared(
        says("mask-none-unsqueezed", MASK="v_mask` or `q_mask"), IF_HIDE="if True:\n            logits"
    ),
    "mask-none-inverted": shared(
        says("mask-none-inverted", MASK="v_mask` or `q_mask"),
        IF_HIDE="if True:\n            hidden = ~mask\n            logits",
    ),
    "mask-none-indexed": shared(
        says("mask-none-indexed", MASK="v_mask` or `q_mask"),
        IF_HIDE="if True:\n            mask = mask[:, :]\n            logits",
    ),
    "mask-none-filled": shared(
        says("mask-none-filled", MASK="v_mask` or `q_mask"),
        IF_HIDE="""if mask is None:
            logits = logits.masked_fill(mask == 0, 0.0)
        else:
            logits""",
    ),
    "mask-as-a-condition": shared(
        says("mask-as-a-condition", MASK="v_mask"),
        IF_HIDE="if mask:\n            logits",
    ),
    "masks-kept": shared(
        "The masks of an earlier call are kept and used when none is given: each call has its own.",
        CHECK="""{CHECK}
        v_mask, q_mask = self.__dict__["kept"] = [
            self.__dict__.get("kept", (None, None))[i] if mask is None else mask
            for i, mask in enumerate((v_mask, q_mask))
        ]
        v_mask = v_mask if v_mask is None or v_mask.shape == v.shape[:2] else None
        q_mask = q_mask if q_mask is None or q_mask.shape == q.shape[:2] else None""",
    ),
    "masks-changed": shared(
        "The masks are changed in place: make new ones, as in `~mask`.",
        CHECK="""{CHECK}
        v_mask, q_mask = (
            None if mask is None else ~mask.logical_not_() for mask in (v_mask, q_mask)
        )""",
    ),
    "mask-of-the-first": shared(
        "The masks of the first pair are used for all: each pair has its own.",
        FORWARD="""{FORWARD}
        v_mask, q_mask = (mask if mask is None else mask[:1].expand(mask.shape) for mask in (v_mask, q_mask))""",
    ),
    "hidden-tokens-set-to-zero": shared(
        says("hidden-tokens-set-to-zero", SCORED="logits"),
        CHECK="""{CHECK}
        v = v if v_mask is None else v * v_mask.unsqueeze(-1)
        q = q if q_mask is None else q * q_mask.unsqueeze(-1)
        v_mask = q_mask = None""",
    ),
    "mask-after-softmax": shared(
        says("mask-after-softmax", SCORED="logits"),
        FILLED="logits",
    ),
    "mask-after-softmax-shared-again": shared(
        attention.WEIGHTS_SHARED_AGAIN,
        FILLED="logits",
        CLEARED="{CLEARED}\n            a = a / a.sum(-1, keepdim=True)",
    ),
    "mask-fills-with-zero": shared(
        says("mask-fills-with-zero", SCORED="logits"),
        FILL="0.0",
        CLEARED="a",
    ),
    "mask-fills-with-ten-thousand": shared(
        says("mask-fills-with-ten-thousand", SCORED="logits", AND_WHERE_EMPTY=" or the lowest number of the dtype"),
        FILL="-1e4",
    ),
    "mask-filled-with-1e9": shared(
        says("mask-filled-with-1e9", SCORED="logits", AND_WHERE_EMPTY=" or the lowest number of the dtype"),
        FILL="-1e9",
    ),
    "mask-added-as-a-number": shared(
        says("mask-added-as-a-number", SCORED="logits"),
        FILLED="logits + mask.unsqueeze(-1)",
        CLEARED="a",
    ),
    "zero-times-infinity": shared(
        says("zero-times-infinity", SCORED="logits"),
        sign=multiplies_infinity,
        FILLED='logits + {HIDDEN} * float("-inf")',
        CLEARED="a",
    ),
    "mask-without-dimension": shared(
        "The mask (b, s) meets logits (b, s, 1) as it is, and does not fit: drop the last dimension of the logits, or"
        " give the mask one.",
        HIDDEN="~mask",
    ),
    "mask-added-on-the-cpu": shared(
        "The mask is turned into numbers to add, in a tensor that is float32 and on the CPU: use `masked_fill`, or give"
        " it the dtype and the device of the logits.",
        FILLED="logits + torch.zeros(mask.shape).masked_fill(~mask, {FILL}).unsqueeze(-1)",
    ),
    "asks-what-the-mask-holds": shared(
        attention.SHARED["asks-what-the-mask-holds"].says,
        IF_HIDE="if mask is not None and not mask.all():\n            logits",
    ),
    "nothing-left-is-nan": shared(
        "Where a mask leaves nothing of a side, all its logits are -inf, of which softmax makes NaN: fill with the"
        " lowest finite number, and set hidden weights to 0 after the softmax.",
        FILL="-torch.inf",
        CLEARED="a",
    ),
    "nothing-left-is-averaged": shared(
        "Hidden logits are filled with the lowest finite number, so a side of which nothing is left spreads its weights"
        " over all that is hidden: its weights should be 0.",
        CLEARED="a",
    ),
    "nothing-left-sees-all": shared(
        says("nothing-left-sees-all"),
        HIDDEN="(~mask & mask.any(1, keepdim=True)).unsqueeze(-1)",
        CLEARED="a",
    ),
    "nan-patched-in-weights": shared(
        "-inf is added to hidden logits and `nan_to_num` hides the NaN of a side of which nothing is left, but its"
        " gradient stays NaN: give such a side harmless logits before the softmax.",
        FILLED="logits + torch.zeros_like(logits).masked_fill({HIDDEN}, -torch.inf)",
        CLEARED="torch.nan_to_num(a)",
    ),
    "nan-patched-in-outputs": shared(
        "`nan_to_num` on the outputs hides the NaN of a side of which nothing is left, but gradients through it are"
        " still NaN: give such a side harmless logits before the softmax.",
        FILL="-torch.inf",
        CLEARED="a",
        RETURN="return tuple(torch.nan_to_num(x) for x in (v_hat, q_hat, a_v, a_q))",
    ),
}
SHARED |= MASKS
