# %% forgets_lse: only the larger lse comes back; the shares are a softmax, which is NaN where both sides are empty
# expect: lse-is-the-larger, nan-with-two-empty-sides
import torch


def merge(output_a, lse_a, output_b, lse_b):
    lses = torch.stack([lse_a, lse_b], dim=-1)
    shares = torch.softmax(lses, dim=-1)
    outputs = torch.stack([output_a, output_b], dim=-1)
    output = (outputs * shares.unsqueeze(-2)).sum(dim=-1)
    return output, torch.maximum(lse_a, lse_b)

# %% nan_replaced: NaN of empty sides is replaced at the end only, so it is still in the gradients
# expect: nan-in-gradients-of-two-empty-sides
import torch


def merge(output_a, lse_a, output_b, lse_b):
    lse = torch.logaddexp(lse_a, lse_b)
    w_a = torch.exp(lse_a - lse)
    w_b = torch.exp(lse_b - lse)
    output = w_a.unsqueeze(-1) * output_a + w_b.unsqueeze(-1) * output_b
    output = torch.nan_to_num(output, nan=0.0)
    return output, lse

# %% raw_exp: the exponentials are made as they are: infinity for 10,000, and 0/0 for two empty sides
# expect: largest-not-subtracted, nan-with-two-empty-sides
import torch


def merge(output_a, lse_a, output_b, lse_b):
    a = torch.exp(lse_a)
    b = torch.exp(lse_b)
    total = a + b
    output = (a / total)[..., None] * output_a + (b / total)[..., None] * output_b
    return output, torch.log(total)

# %% shares_of_lse: the shares are those of the lse themselves and not of their exponentials, and the lse are summed
# expect: shares-by-the-lse-itself, lse-added
import torch


def merge(output_a, lse_a, output_b, lse_b):
    lse = lse_a + lse_b
    share_a = (lse_a / lse).unsqueeze(-1)
    share_b = (lse_b / lse).unsqueeze(-1)
    output = share_a * output_a + share_b * output_b
    return output, lse
