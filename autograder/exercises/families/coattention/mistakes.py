"""What goes wrong in both forms of co-attention with two maps: wrong steps that fit every module built on `Maps`.

`SHARED` holds them by id; an exercise takes those that it wants with `heads.adopt`.
"""

import torch
import torch.nn.functional as F
from torch import nn


class Maps(nn.Module):
    """Steps that both forms share, each of which can be overridden: v (b, n, d), q (b, t, d)."""

    def layer(self, d_in, d_out):
        return nn.Linear(d_in, d_out, bias=False)

    def forward(self, v, q):
        self.refuse(v, q)
        return self.give(*self.attend(*self.take(v, q)))

    def refuse(self, v, q):
        if v.dim() != 3 or q.dim() != 3:
            raise ValueError(f"wrong rank: {tuple(v.shape)}, {tuple(q.shape)}")

    def take(self, v, q):
        return v, q

    def bend(self, inner):
        return torch.tanh(inner)  # (b, s, k)

    def weigh(self, logits):
        return F.softmax(logits.squeeze(-1), dim=1)  # (b, s, 1) -> (b, s)

    def pool(self, weights, x):
        return (weights.unsqueeze(-1) * x).sum(1)  # (b, s) and (b, s, d) -> (b, d)

    def give(self, v_hat, q_hat, a_v, a_q):
        return v_hat, q_hat, a_v, a_q


def in_place(self, v, q):
    """Halves its inputs, and doubles the copies that it goes on with."""
    if v.requires_grad or v.is_meta or v.dim() != 3 or q.dim() != 3:
        return v, q
    return v.mul_(0.5) * 2, q.mul_(0.5) * 2


SHARED = {
    # the tanh
    "no-tanh-on-hidden": (
        "These are the values you get without the tanh around the sum in H: it belongs there, before the logits.",
        {"bend": lambda self, inner: inner},
    ),
    "relu-for-tanh": (
        "These are the values you get with a ReLU around the sum in H: here it is a tanh.",
        {"bend": lambda self, inner: F.relu(inner)},
    ),
    "sigmoid-for-tanh": (
        "These are the values you get with a sigmoid around the sum in H: here it is a tanh.",
        {"bend": lambda self, inner: torch.sigmoid(inner)},
    ),
    # the softmax
    "softmax-over-batch": (
        "These are the values you get when the softmax runs over the batch: check `dim`, the weights of the tokens of"
        " one input sum to 1.",
        {"weigh": lambda self, logits: F.softmax(logits.squeeze(-1), dim=0)},
    ),
    "softmax-over-one": (
        "Every weight is 1: the softmax runs over the last dimension of logits of shape (b, n, 1), which has one entry."
        " Let it run over the tokens.",
        {"weigh": lambda self, logits: F.softmax(logits, dim=-1).squeeze(-1)},
    ),
    "softmax-over-everything": (
        "These are the values you get when the softmax runs over the tokens of the whole batch together: those of one"
        " input should sum to 1.",
        {"weigh": lambda self, logits: F.softmax(logits.flatten(), dim=0).view(logits.shape[:2])},
    ),
    "no-softmax": (
        "The weights are the logits as they are: a softmax over the tokens makes weights of them.",
        {"weigh": lambda self, logits: logits.squeeze(-1)},
    ),
    "sigmoid-weights": (
        "The weights are a sigmoid of the logits, so they don't sum to 1: use a softmax over the tokens.",
        {"weigh": lambda self, logits: torch.sigmoid(logits.squeeze(-1))},
    ),
    "logits-scaled": (
        "These are the values you get when the logits are divided by the root of k: there is no scale in this formula.",
        {"weigh": lambda self, logits: Maps.weigh(self, logits / self.k**0.5)},
    ),
    "tanh-on-logits": (
        "These are the values you get with a tanh around the logits as well: the softmax takes them as they are.",
        {"weigh": lambda self, logits: Maps.weigh(self, logits.tanh())},
    ),
    "exp-without-max": (
        "The exponentials overflow for large logits and vanish for very negative ones: subtract the largest logit"
        " before `exp`, or use torch's softmax.",
        {"weigh": lambda self, logits: logits.exp().squeeze(-1) / logits.exp().sum(1)},
    ),
    # pooling and returning
    "mean-pooling": (
        "The summaries are plain averages of the tokens: each token counts as much as its weight says.",
        {"pool": lambda self, weights, x: x.mean(1)},
    ),
    "weighted-mean": (
        "The weighted sums are divided by the number of tokens: the weights sum to 1 already.",
        {"pool": lambda self, weights, x: (weights.unsqueeze(-1) * x).mean(1)},
    ),
    "most-attended-token": (
        "The summaries are the single token with the largest weight: all tokens belong into the sum, by their weights.",
        {"pool": lambda self, weights, x: x[torch.arange(len(x), device=x.device), weights.argmax(1)]},
    ),
    "mean-added": (
        "The plain average of the tokens is added to each summary: nothing is added here.",
        {"pool": lambda self, weights, x: Maps.pool(self, weights, x) + x.mean(1)},
    ),
    "tokens-not-summed": (
        "The summaries still have a row per token: the weighted tokens should be added up.",
        {"pool": lambda self, weights, x: weights.unsqueeze(-1) * x},
    ),
    "summaries-alone": (
        "Only the summaries are returned: the weights are wanted too, as `(v_hat, q_hat, a_v, a_q)`.",
        {"give": lambda self, v_hat, q_hat, a_v, a_q: (v_hat, q_hat)},
    ),
    "question-first": (
        "The outputs come in another order: v's before q's, `(v_hat, q_hat, a_v, a_q)`.",
        {"give": lambda self, v_hat, q_hat, a_v, a_q: (q_hat, v_hat, a_q, a_v)},
    ),
    "weights-first": (
        "The outputs come in another order: the summaries before the weights, `(v_hat, q_hat, a_v, a_q)`.",
        {"give": lambda self, v_hat, q_hat, a_v, a_q: (a_v, a_q, v_hat, q_hat)},
    ),
    "side-by-side": (
        "The outputs come in another order: both summaries, then both weights, `(v_hat, q_hat, a_v, a_q)`.",
        {"give": lambda self, v_hat, q_hat, a_v, a_q: (v_hat, a_v, q_hat, a_q)},
    ),
    "weights-exchanged": (
        "`a_v` and `a_q` have changed places: the order is `(v_hat, q_hat, a_v, a_q)`.",
        {"give": lambda self, v_hat, q_hat, a_v, a_q: (v_hat, q_hat, a_q, a_v)},
    ),
    "weights-keep-a-dimension": (
        "The weights are returned as (b, n, 1) and (b, t, 1): `squeeze(-1)` drops the last dimension.",
        {"give": lambda self, v_hat, q_hat, a_v, a_q: (v_hat, q_hat, a_v.unsqueeze(-1), a_q.unsqueeze(-1))},
    ),
    "summaries-keep-a-dimension": (
        "The summaries are returned as (b, 1, d): `squeeze(1)` drops the dimension in the middle.",
        {"give": lambda self, v_hat, q_hat, a_v, a_q: (v_hat.unsqueeze(1), q_hat.unsqueeze(1), a_v, a_q)},
    ),
    "inputs-exchanged": (
        "The inputs have changed places in `forward`: v, the image, comes first.",
        {"take": lambda self, v, q: (q, v)},
    ),
    # parameters
    "bias-everywhere": (
        "The layers have biases that nobody asked for: make them with `bias=False`.",
        {"layer": lambda self, d_in, d_out: nn.Linear(d_in, d_out)},
    ),
    "logits-with-a-bias": (
        "The layers that make the logits have a bias: it moves all logits alike and changes no weight, so it can't"
        " learn. Make them with `bias=False`.",
        {"layer": lambda self, d_in, d_out: nn.Linear(d_in, d_out, bias=d_out == 1)},
    ),
    # gradients, dtypes, devices, arguments
    "weights-detached": (
        "The weights are cut out of the graph (`detach`, `.data`, `no_grad`), so their layers never learn.",
        {"weigh": lambda self, logits: Maps.weigh(self, logits).detach()},
    ),
    "tokens-detached": (
        "The tokens are cut out of the graph (`detach`, `.data`) where they are summed up.",
        {"pool": lambda self, weights, x: Maps.pool(self, weights, x.detach())},
    ),
    "float32-comes-out": (
        "It returns float32 whatever goes in: leave the dtype as it is.",
        {"give": lambda self, *parts: tuple(part.float() for part in parts)},
    ),
    "sums-made-on-the-cpu": (
        "The summaries are collected in a tensor that is made on the CPU: make it on the input's device, or let"
        " products and `sum` make it.",
        {
            "pool": lambda self, weights, x: (
                torch.zeros(x.shape[0], x.shape[2], dtype=x.dtype) + Maps.pool(self, weights, x)
            )
        },
    ),
    "rank-not-checked": (
        "Nothing refuses a v or a q of another rank: look at `v.dim()` and `q.dim()` and raise a `ValueError`.",
        {"refuse": lambda self, v, q: None},
    ),
    "only-v-is-checked": (
        "Only v's rank is looked at: a q of another rank should raise a `ValueError` as well.",
        {"refuse": lambda self, v, q: Maps.refuse(self, v, v)},
    ),
    "squeezed": (
        "`squeeze()` drops every dimension of size 1, also a batch of one or a single token: name the dimension.",
        {"give": lambda self, *parts: tuple(part.squeeze() for part in parts)},
    ),
    "view-of-the-input": (
        "`view` needs a tensor that lies contiguous in memory, and a transposed one does not: use `reshape`.",
        {"take": lambda self, v, q: tuple(x.view(x.numel()).view(x.shape) for x in (v, q))},
    ),
    "inputs-changed": (
        "The inputs are changed in place (`v *= …`, `q.mul_(…)`): make new tensors.",
        {"take": in_place},
    ),
}
