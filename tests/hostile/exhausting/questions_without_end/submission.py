import torch


def check_attention(candidate):
    x = torch.randn(1, 2, 3)
    while True:
        try:
            candidate(x, x, x)
        except BaseException:
            pass
