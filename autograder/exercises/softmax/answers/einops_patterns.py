"""With einops: the largest score and the sum by pattern, after the dimension has been brought to the end."""

from einops import reduce


def softmax(scores, dim=-1):
    scores = scores.movedim(dim, -1)
    largest = reduce(scores.detach(), "... n -> ... 1", "max")
    powers = (scores - largest.masked_fill(largest.isinf(), 0)).exp()
    total = reduce(powers, "... n -> ... 1", "sum")
    return (powers / total.masked_fill(total == 0, 1)).movedim(-1, dim)
