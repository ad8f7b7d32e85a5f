"""Mistakes in both forms of co-attention with two maps, as edits of answers that have `PLACES` in common.

Each answer adds its own places `LAYERS` (all lines that make layers), `LOGIT_LAYERS` (those of the logits), `LOGITS`
(the argument of the softmax, with a last dimension of 1), `WEIGH` and `CHECK`, and the words `BIASED` and
`BIASED_LOGITS` for these layers with biases.
"""

from ....mistakes.bank import shared
from ..attention import mistakes as attention

PLACES = {
    "FORWARD": "def forward(self, v, q):",
    "RANKS": "v.dim() != 3 or q.dim() != 3",
    "BEND": "torch.tanh(inner)",
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
        WEIGH="a = F.softmax({LOGITS}.squeeze(-1), dim=0)",
    ),
    "softmax-over-one": shared(
        "Every weight is 1: the softmax runs over the last dimension of logits of shape (b, n, 1), which has one entry."
        " Let it run over the tokens.",
        WEIGH="a = F.softmax({LOGITS}, dim=-1).squeeze(-1)",
    ),
    "softmax-over-everything": shared(
        "These are the values you get when the softmax runs over the tokens of the whole batch together: those of one"
        " input should sum to 1.",
        WEIGH="a = F.softmax({LOGITS}.flatten(), dim=0).view(x.shape[:2])",
    ),
    "no-softmax": shared(
        "The weights are the logits as they are: a softmax over the tokens makes weights of them.",
        WEIGH="a = {LOGITS}.squeeze(-1)",
    ),
    "sigmoid-weights": shared(
        "The weights are a sigmoid of the logits, so they don't sum to 1: use a softmax over the tokens.",
        WEIGH="a = torch.sigmoid({LOGITS}.squeeze(-1))",
    ),
    "logits-scaled": shared(
        "These are the values you get when the logits are divided by the root of k: there is no scale in this formula.",
        WEIGH="a = F.softmax({LOGITS}.squeeze(-1) / inner.shape[-1] ** 0.5, dim=-1)",
    ),
    "tanh-on-logits": shared(
        "These are the values you get with a tanh around the logits as well: the softmax takes them as they are.",
        WEIGH="a = F.softmax(torch.tanh({LOGITS}).squeeze(-1), dim=-1)",
    ),
    "exp-without-max": shared(
        "The exponentials overflow for large logits and vanish for very negative ones: subtract the largest logit"
        " before `exp`, or use torch's softmax.",
        WEIGH="a = {LOGITS}.squeeze(-1).exp()\n        a = a / a.sum(-1, keepdim=True)",
    ),
    "one-max-for-all-rows": shared(
        "The largest of all logits is subtracted before `exp`, so the exponentials of milder inputs vanish: subtract"
        " the largest of each input's own logits.",
        WEIGH="""a = {LOGITS}.squeeze(-1)
        a = (a - a.max()).exp() / (a - a.max()).exp().sum(-1, keepdim=True)""",
    ),
    "max-used-as-a-tensor": shared(
        attention.MAX_AS_A_TENSOR,
        WEIGH="""a = {LOGITS}.squeeze(-1)
        a = (a - a.max(-1, keepdim=True)).exp()
        a = a / a.sum(-1, keepdim=True)""",
    ),
    "sum-subtracted": shared(
        attention.SUM_SUBTRACTED,
        WEIGH="a = {LOGITS}.squeeze(-1).exp()\n        a = a - a.sum(-1, keepdim=True)",
    ),
    "epsilon-in-the-sum": shared(
        attention.EPSILON,
        WEIGH="""a = {LOGITS}.squeeze(-1)
        a = (a - a.amax(-1, keepdim=True)).exp()
        a = a / (a.sum(-1, keepdim=True) + 1e-6)""",
    ),
    "small-epsilon-in-the-sum": shared(
        attention.EPSILON,
        WEIGH="""a = {LOGITS}.squeeze(-1)
        a = (a - a.amax(-1, keepdim=True)).exp()
        a = a / (a.sum(-1, keepdim=True) + 1e-8)""",
    ),
    "softmax-in-float32": shared(
        "The softmax is computed in float32 and its result turned back, so the digits of float64 are lost: leave the"
        " logits in the dtype that they have.",
        WEIGH="a = F.softmax({LOGITS}.squeeze(-1).float(), dim=-1).to(x.dtype)",
    ),
    "softmax-left-in-float32": shared(
        "The weights are float32 whatever the tokens are (`.float()`, `dtype=torch.float32`), and a product of two"
        " dtypes is an error: leave the logits in the dtype that they have.",
        WEIGH="a = F.softmax({LOGITS}.squeeze(-1), dim=-1, dtype=torch.float32)",
    ),
    "logits-squeezed": shared(
        "`squeeze()` without a number drops every dimension of size 1 of the logits, also a batch of one or a single"
        " token: it is `squeeze(-1)`.",
        WEIGH="a = F.softmax({LOGITS}.squeeze(), dim=-1)",
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
        "It returns nothing, which is None: `forward` ends with `return v_hat, q_hat, a_v, a_q`.",
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
        FORWARD="def forward(self, q, v):",
    ),
    # parameters
    "bias-everywhere": shared(
        "The layers have biases that nobody asked for: make them with `bias=False`.", LAYERS="{BIASED}"
    ),
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
        "Nothing refuses a v or a q of another rank: look at `v.dim()` and `q.dim()` and raise a `ValueError`.",
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
