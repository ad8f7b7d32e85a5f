# wrong: an epsilon in the denominator makes sums less than 1; turned to float32 whatever comes in
# expect: epsilon-in-the-sum, float32-comes-out
import torch


def softmax(scores, dim=-1):
    x = scores.float()
    x = x - x.max(dim=dim, keepdim=True).values
    top = torch.exp(x)
    return top / (top.sum(dim=dim, keepdim=True) + 1e-6)
