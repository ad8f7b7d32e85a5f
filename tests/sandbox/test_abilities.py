"""What torch can do on one machine and not on another: it is set up before the lock, and what it lacks is known."""

import pytest
from lesser import SAYS, WITHOUT_HALF, begun_with

# each asks torch what it looks up once: the processor, by several libraries of its own, its threads, its random numbers
FIRST = {
    "half": "torch.nn.Linear(8, 8).half()(torch.ones(2, 8).half())",
    "heads in half": "torch.nn.MultiheadAttention(16, 2).half().eval()(*[torch.ones(1, 4, 16).half()] * 3)",
    "bfloat16": "torch.nn.Linear(300, 300).bfloat16()(torch.ones(300, 300).bfloat16()).sum().backward()",
    "attention": "torch.nn.functional.scaled_dot_product_attention(*[torch.ones(1, 2, 8, 16).bfloat16()] * 3)",
    "bags": "torch.nn.EmbeddingBag(4, 3)(torch.tensor([[0, 1]]))",
    "8 bits": "torch._int_mm(*[torch.ones(32, 32, dtype=torch.int8)] * 2)",
    "convolution": "torch.nn.Conv2d(3, 4, 3).bfloat16()(torch.ones(1, 3, 16, 16).bfloat16())",
    "recurrence": "torch.nn.LSTM(8, 8)(torch.ones(3, 2, 8))",
    "autocast": "with torch.autocast('cpu', torch.bfloat16): torch.ones(4, 4) @ torch.ones(4, 4)",
    "linear algebra": "torch.linalg.svd(torch.randn(32, 32)); torch.linalg.solve(torch.eye(4), torch.ones(4))",
    "spectra": "torch.fft.fft(torch.ones(64)); np.fft.fft(np.ones(9))",
    "NumPy's": "np.linalg.svd(np.random.randn(50, 50)); np.random.default_rng().normal(); np.float16(1) * 2",
    "threads": "torch.set_num_threads(4); torch.randn(500, 500) @ torch.randn(500, 500)",
    "a compiler that is none": "torch.compile(lambda x: x + 1)(torch.ones(3))",
    "a data loader": "next(iter(torch.utils.data.DataLoader([1, 2, 3], batch_size=2)))",
    "files": "torch.save(torch.ones(2), 'x.pt'); torch.load('x.pt', mmap=True)",
    "a profile": "with torch.profiler.profile(): torch.ones(3) @ torch.ones(3)",
}
# no library of this torch has that symbol under its name
ELSEWHERE = """
import ctypes
found = ctypes.CDLL
ctypes.CDLL = lambda name, *rest, **more: object() if "torch" in str(name) else found(name, *rest, **more)
"""


def run(parent, source):
    """The error of a cell in a fresh child, or None."""
    child = parent.fork()
    try:
        source = f"import numpy as np, torch\n{source}"
        return child.request({"op": "cell", "source": source, "name": "cell 1"}, seconds=60.0)[0].get("error")
    finally:
        child.kill()


@pytest.fixture(scope="module")
def elsewhere():
    with begun_with(ELSEWHERE) as parent:
        yield parent


@pytest.mark.parametrize("what", FIRST)
def test_what_torch_sets_up_when_it_is_first_used_works_behind_the_lock(what, elsewhere):
    assert run(elsewhere, FIRST[what]) is None


def test_a_torch_that_can_do_all_lacks_nothing(elsewhere):
    from autograder.sandbox.inside import abilities

    assert elsewhere.lacks == {} == abilities.lacking_here()


def test_a_torch_that_lacks_something_says_what():
    with begun_with(WITHOUT_HALF) as parent:
        assert run(parent, "torch.ones(4, 4).half() @ torch.ones(4, 4).half()")["message"] == SAYS
        assert parent.lacks == {"float16": f"RuntimeError: {SAYS}"}
