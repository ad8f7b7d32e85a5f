"""Wrong implementations of `causal_mask(t, device=None)`."""

import torch

from ...mistakes.bank import misconception


def triangle(t, device=None):
    """The right one."""
    return torch.ones(t, t, dtype=torch.bool, device=device).tril()


@misconception(
    "diagonal-missing",
    "The diagonal is False, so a token may not attend to itself, and the first one has nothing at all: keep the"
    " diagonal.",
)
def diagonal_missing(t, device=None):
    return triangle(t, device).tril(-1)


@misconception(
    "one-step-ahead",
    "Each token may also attend to the next one, the very one that it should guess: the diagonal is the last that is"
    " True.",
)
def one_step_ahead(t, device=None):
    return torch.ones(t, t, dtype=torch.bool, device=device).tril(1)


@misconception(
    "upside-down",
    "Each token may attend to itself and to those after it: rows are queries, so the lower triangle is the past"
    " (`tril`, not `triu`).",
    original="004",
)
def upside_down(t, device=None):
    return triangle(t, device).mT


@misconception(
    "inverted",
    "True stands where the future is, as in notebook 004's buffer: here True means may attend, so turn it round.",
    original="004",
)
def inverted(t, device=None):
    return ~triangle(t, device)


@misconception(
    "nothing-hidden",
    "Everything is True, so nothing is hidden: keep the lower triangle only.",
)
def nothing_hidden(t, device=None):
    return torch.ones(t, t, dtype=torch.bool, device=device)


@misconception(
    "numbers-not-boolean",
    "The mask holds numbers, as notebook 003's `tril` does: make it boolean, with `dtype=torch.bool` or a comparison.",
    original="003",
)
def numbers_not_boolean(t, device=None):
    return torch.tril(torch.ones(t, t, device=device))


@misconception(
    "minus-infinity-inside",
    "The mask holds 0 and minus infinity, to be added to scores: here it says who may attend, True or False.",
)
def minus_infinity_inside(t, device=None):
    return torch.zeros(t, t, device=device).masked_fill(~triangle(t, device), float("-inf"))


@misconception(
    "always-eight",
    "The mask is 8 wide whatever t is, as in notebook 003, where the number stands in a global: use the parameter.",
    original="003",
)
def always_eight(t, device=None):
    return triangle(8, device)


@misconception(
    "leading-dimension",
    "The mask has a dimension too many: its shape should be (t, t).",
)
def leading_dimension(t, device=None):
    return triangle(t, device)[None]


@misconception(
    "device-ignored",
    "`device` plays no part, so the mask is always on the CPU: pass it on to what makes the tensor.",
)
def device_ignored(t, device=None):
    return triangle(t)


@misconception(
    "half-on-the-device",
    "Two tensors are compared of which only one is made on `device`: make both there.",
)
def half_on_the_device(t, device=None):
    return torch.arange(t)[:, None] >= torch.arange(t, device=device)[None, :]
