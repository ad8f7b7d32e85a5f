# wrong: the scale comes after the softmax
# expect: scale-after-softmax
# also: rank-not-checked
import torch


def scaled_self_attention(x):
    k = x.size(2)
    weights = torch.softmax(torch.einsum("btk,bsk->bts", x, x), dim=-1)
    weights = weights / torch.sqrt(torch.tensor(k, dtype=x.dtype, device=x.device))
    return torch.einsum("bts,bsk->btk", weights, x)
