"""Graders of `attention`."""
import torch
from autograder.graders.kit import check, close, pair

@check("values", points=2)
def test_output(submission, draw):
    """The output is right."""
    q=draw.normal(2,5,4)
    out,w=pair(submission.function("attention")(q,q,q))
    close(out, (q.double()@q.double().mT/2).softmax(-1)@q.double())
