import torch


def check_attention(candidate):
    wide = torch.randn(1024, 1, 1, 16)
    sizes = [
        (torch.randn(2048, 4),) * 3,
        (wide, wide.transpose(0, 1), wide.transpose(0, 2)),
        (torch.zeros(1, 2**30, 0),) * 3,
        (torch.zeros(2, 3, 2**20, 0),) * 3,
        (torch.randn(4096, 1), torch.randn(4096, 1), torch.randn(4096, 1)),
        (torch.randn(2, 2), torch.randn(2, 2), torch.randn(2, 2), torch.ones(512, 512, 2, 2, dtype=torch.bool)),
        (torch.zeros([1] * 12),) * 3,
    ]
    told = []
    for tensors in sizes:
        try:
            candidate(*tensors)
            told.append("through: it was answered")
        except Exception as error:
            told.append(str(error)[:60])
    raise AssertionError(" and ".join(told))
