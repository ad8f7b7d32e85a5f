# wrong: the shares are those of the lse themselves and not of their exponentials, and the lse are summed
# expect: shares-by-the-lse-itself, lse-added
import torch


def merge(output_a, lse_a, output_b, lse_b):
    lse = lse_a + lse_b
    share_a = (lse_a / lse).unsqueeze(-1)
    share_b = (lse_b / lse).unsqueeze(-1)
    output = share_a * output_a + share_b * output_b
    return output, lse
