# wrong: written for a matrix: it loops over rows, so other shapes and other dims come out wrong; no maximum
# expect: loop-over-rows, textbook-formula
# also: matrices-only, dim-ignored, exp-without-max
import torch


def softmax(scores, dim=-1):
    rows = []
    for i in range(scores.shape[0]):
        row = scores[i]
        rows.append(torch.exp(row) / torch.exp(row).sum())
    return torch.stack(rows)
