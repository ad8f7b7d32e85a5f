"""Sandboxes on machines that can do less than this one."""

import contextlib
from unittest import mock

from autograder.sandbox import jail
from autograder.sandbox.parent import WarmParent

# what a torch says that has no products in half precision on this processor: there are such, old and new
SAYS = "\"addmm_impl_cpu_\" not implemented for 'Half'"
WITHOUT_HALF = f"""
import torch

def refusing(name, owner):
    real = getattr(owner, name)
    def product(*args, **options):
        if any(isinstance(one, torch.Tensor) and one.dtype is torch.float16 for one in args):
            raise RuntimeError({SAYS!r})
        return real(*args, **options)
    setattr(owner, name, product)

for owner, names in ((torch.nn.functional, ["linear"]), (torch, ["matmul"]), (torch.Tensor, ["matmul", "__matmul__"])):
    for name in names:
        refusing(name, owner)
"""
# a Triton of another version, in which names differ
WITHOUT_TRITONS_COMPILER = """
import builtins
found = builtins.__import__

def searched(name, globals=None, locals=None, fromlist=(), level=0):
    if "ast_to_ttir" in (fromlist or ()) and globals["__name__"].endswith(".compiling"):
        raise ImportError("cannot import name 'ast_to_ttir'")
    return found(name, globals, locals, fromlist, level)

builtins.__import__ = searched
"""


@contextlib.contextmanager
def begun_with(text):
    """A sandbox with a warm parent that runs this text before all else."""

    def command(*args):
        *before, start, control = real(*args)
        return [*before, f"{text}\n{start}", control]

    real = jail.command
    with mock.patch.object(jail, "command", command), WarmParent() as parent:
        parent.start()
        yield parent
