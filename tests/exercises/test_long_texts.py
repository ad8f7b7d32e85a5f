"""What long texts need of the kit: a call that is watched for its largest tensor, and parts of another lesson."""

import pytest
import torch

from autograder import course
from autograder.checks.proxies import Local, Submission
from autograder.mistakes.bank import bank, right_answer
from autograder.submission.restore import RestoredCell


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


@pytest.mark.slow("it grades a whole lesson")
def test_what_is_wrong_with_a_carried_part_is_paid_where_it_was_made(grader):
    """The attention belongs to the answer, though lesson 08 has an exercise of that name: it is not replaced."""
    parts = right_answer("RMSNorm"), bank("apply_rope")["neighbours-turned"].source, right_answer("KVCache")
    imports = "import torch\nfrom torch import nn\nimport torch.nn.functional as F"
    cells = [RestoredCell("code", text, "") for text in (imports, *parts)]
    (outcome,) = grader.grade_cells(cells, [course.exercises()["KVCache"]], 1).verdict.exercises
    assert [(one.id, one.price) for one in outcome.diagnosis] == [("stands-on-apply_rope", 0.0)]
    assert outcome.by_checks < outcome.by_prices == outcome.max_score
