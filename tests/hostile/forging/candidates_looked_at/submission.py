import sys
import torch

SEEN = set()


def check_attention(candidate):
    looks = repr(candidate), str(type(candidate)), tuple(dir(candidate)), type(candidate).__doc__, hasattr(candidate, "__dict__")
    held = tuple(type(value).__name__ for value in map(candidate._interview.__dict__.get, ("ask", "lock", "closed")))
    refused = []
    for wrong in (("x",), (object(),), (print,), ([1],)):
        try:
            candidate(*wrong)
        except TypeError as error:
            refused.append(str(error))
    for wrong in ((torch.zeros(2), torch.zeros(2), torch.zeros(2)), (None, None, None), (1, 2, 3)):
        try:
            candidate(*wrong)
        except Exception as error:
            refused.append(str(error))  # not its type, which is how a candidate behaves
    SEEN.add((looks, held, tuple(refused[:4]), frozenset(refused[4:])))
    if len(SEEN) > 1:
        raise AssertionError(f"through: {SEEN}")
