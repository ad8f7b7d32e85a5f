"""With einops: the largest score and the sum by pattern, after the dimension has been brought to the end."""

from einops import reduce


def softmax(scores, dim=-1):
    scores = scores.movedim(dim, -1)
    powers = (scores - reduce(scores.detach(), "... n -> ... 1", "max")).exp()
    return (powers / reduce(powers, "... n -> ... 1", "sum")).movedim(-1, dim)
