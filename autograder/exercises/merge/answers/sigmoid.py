import torch
import torch.nn.functional as F


def merge(output_a, lse_a, output_b, lse_b):
    """As vLLM and ring attention do: one sigmoid of the difference, and a logsigmoid for the lse."""
    gone = torch.isneginf(lse_a) & torch.isneginf(lse_b)
    a, b = lse_a.masked_fill(gone, 0), lse_b.masked_fill(gone, 0)
    # the larger side comes first, so that the difference is never of two infinities of one sign
    a_is_larger = a >= b
    larger, smaller = torch.where(a_is_larger, a, b), torch.where(a_is_larger, b, a)
    difference = larger - smaller  # >= 0, or inf
    share = torch.sigmoid(difference)
    lse = larger - F.logsigmoid(difference)
    share_a = torch.where(a_is_larger, share, 1 - share).masked_fill(gone, 0)[..., None]
    share_b = torch.where(a_is_larger, 1 - share, share).masked_fill(gone, 0)[..., None]
    return output_a * share_a + output_b * share_b, lse.masked_fill(gone, float("-inf"))
