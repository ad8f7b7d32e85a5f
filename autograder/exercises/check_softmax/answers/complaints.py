"""All complaints are collected, and raised at the end as one."""

import torch


def softmax(scores, dim=-1):
    powers = torch.exp(scores - scores.detach().amax(dim=dim, keepdim=True))
    return powers / powers.sum(dim=dim, keepdim=True)


CASES = {
    "plain": (torch.tensor([[0.5, -1.0, 2.0], [0.0, 0.0, 3.0]]), {}),
    "columns": (torch.tensor([[0.5, -1.0, 2.0], [0.0, 0.0, 3.0]]), {"dim": 0}),
    "a cube": (torch.arange(24.0).view(2, 3, 4).sin(), {"dim": 1}),
    "large": (torch.tensor([[10_000.0, 9_999.0], [1.0, 0.0]]), {}),
    "large columns": (torch.tensor([[10_000.0, 1.0], [9_999.0, 0.0], [9_998.0, 2.0]]), {"dim": 0}),
    "low": (torch.tensor([-5000.0, -5001.0, -5003.0]), {}),
    "mixed": (torch.tensor([[-5000.0, 5000.0], [0.3, 0.1]]), {"dim": 1}),
}


def check_softmax(candidate):
    complaints = []
    for name, (scores, options) in CASES.items():
        right = torch.nn.functional.softmax(scores, dim=options.get("dim", -1))
        try:
            torch.testing.assert_close(candidate(scores, **options), right, atol=1e-4, rtol=1e-3)
        except Exception as error:
            complaints.append(f"{name}: {error}")
    if complaints:
        raise AssertionError("; ".join(complaints))
