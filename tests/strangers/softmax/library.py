# wrong: torch's own softmax, which the exercise does not allow
# expect: torchs-own-softmax
import torch.nn.functional as F


def softmax(scores, dim=-1):
    return F.softmax(scores, dim=dim)
