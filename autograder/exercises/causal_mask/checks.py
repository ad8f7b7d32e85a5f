"""Checks of `causal_mask(t, device=None)`: (t, t), boolean, True on and below the diagonal."""

from ...checks.api import boolean, check, on_cuda, on_meta, pattern, stayed_on_cuda
from ..reference import causal

T = 5


@check("values", points=0.5)
def test_who_may_attend(submission, draw):
    """Each token may attend to itself and to the tokens before it, and to none after it."""
    t = draw.integer(T, 9)
    pattern(submission.function("causal_mask")(t), causal.causal_mask(t))


@check("shape", points=0.5)
def test_any_size(submission, draw):
    """The mask has the shape (t, t), for one token as for many, and each call goes by its own t."""
    causal_mask, sizes = submission.function("causal_mask"), (2, 1, 33, 3)
    for t, got in [(t, causal_mask(t)) for t in sizes]:
        pattern(got, causal.causal_mask(t), f"the mask for t = {t}")


@check("values", points=0.5)
def test_boolean(submission, draw):
    """The mask is boolean, True = may attend."""
    boolean(submission.function("causal_mask")(T), causal.causal_mask(T))


@check("device", points=0.5)
def test_device(submission, draw):
    """The mask lies on the device that is asked for, and nothing is computed across two devices (tried on `meta`)."""
    causal_mask = submission.function("causal_mask")
    got = causal_mask(T), causal_mask(T, "cpu"), causal_mask.on("meta", T, "meta")
    pattern(got[0], causal.causal_mask(T))
    pattern(got[1], causal.causal_mask(T))
    on_meta(got[2], (T, T), "the mask")


@check("device", points=0)
def test_cuda(submission, draw):
    """On a GPU the mask is the same."""
    on_cuda(submission)
    got = submission.function("causal_mask").on("cuda", T, "cuda")
    pattern(got, causal.causal_mask(T))
    stayed_on_cuda(submission, "The mask is", "though it was asked for there")
