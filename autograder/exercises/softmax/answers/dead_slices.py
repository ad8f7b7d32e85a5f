"""Slices that hold nothing but -inf get harmless scores first and weights of 0 afterwards."""

NOTHING = float("-inf")


def softmax(scores, dim=-1):
    dead = (scores == NOTHING).all(dim=dim, keepdim=True)
    alive = scores.masked_fill(dead, 0)
    powers = (alive - alive.amax(dim, keepdim=True)).exp()
    return (powers / powers.sum(dim, keepdim=True)).masked_fill(dead, 0)
