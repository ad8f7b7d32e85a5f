"""What long texts need of the kit: a call that is watched for the largest tensor that it makes."""

import torch

from autograder.checks.proxies import Local, Submission


def test_the_largest_tensor_is_noted():
    functions = {
        "views": lambda x: x[:, :, :1].expand(2, 5, 4000)[:, :, :2] + 0,
        "scores": lambda x: [x @ x.mT, x.sum()][1],
        "mask": lambda x: torch.ones(100, 100, dtype=torch.bool).tril()[:3],
        "nothing": lambda x: None,
    }
    submission, x = Submission(Local(functions)), torch.ones(2, 5, 4)
    for name, largest in {"views": 40, "scores": 50, "mask": 10_000, "nothing": 0}.items():
        submission.function(name).watched(x)
        assert submission.last.largest == largest
    submission.function("scores")(x)
    assert submission.last.largest == 0
