"""The reference for co-attention against torch's own functions, with tokens as columns as in the paper, and by hand."""

import math

import pytest
import torch
import torch.nn.functional as F

from autograder.exercises.reference import co, qkv

PARALLEL = {"W_b": (3, 3), "W_v": (6, 3), "W_q": (6, 3), "w_hv": (1, 6), "w_hq": (1, 6)}
STEPS = {
    f"steps.{i}.{name}": size for i in range(3) for name, size in (("W_x", (6, 3)), ("W_g", (6, 3)), ("w_hx", (1, 6)))
}


@pytest.fixture
def normal():
    """Random float64 tensors of any shape."""
    generator = torch.Generator().manual_seed(0)
    return lambda *shape: torch.randn(shape, generator=generator, dtype=torch.float64, requires_grad=True)


def state_of(shapes, normal):
    return {f"{name}.weight": normal(*size) for name, size in shapes.items()}


def all_equal(got, expected):
    assert len(got) == len(expected)
    for one, other in zip(got, expected, strict=True):
        assert one.shape == other.shape
        assert one.dtype is torch.float64
        assert torch.allclose(one, other, rtol=1e-11, atol=1e-13)


def by_columns(V, Q, state):
    """The paper's formulas as they stand there, for one pair: V (d, n) and Q (d, t)."""
    W_b, W_v, W_q, w_hv, w_hq = (state[f"{name}.weight"] for name in PARALLEL)
    C = torch.tanh(Q.T @ W_b @ V)  # (t, n)
    H_v = torch.tanh(W_v @ V + (W_q @ Q) @ C)  # (k, n)
    H_q = torch.tanh(W_q @ Q + (W_v @ V) @ C.T)  # (k, t)
    a_v, a_q = F.softmax(w_hv @ H_v, dim=1)[0], F.softmax(w_hq @ H_q, dim=1)[0]
    return V @ a_v, Q @ a_q, a_v, a_q


def step_by_columns(X, g, state, i):
    """x̂ = A(X; g) as it stands in the paper: X (d, s) and g (d,)."""
    W_x, W_g, w_hx = (state[f"steps.{i}.{name}.weight"] for name in ("W_x", "W_g", "w_hx"))
    ones = torch.ones(1, X.shape[1], dtype=X.dtype)
    H = torch.tanh(W_x @ X + (W_g @ g)[:, None] @ ones)  # (k, s)
    a = F.softmax(w_hx @ H, dim=1)[0]
    return X @ a, a


def alternating_by_columns(V, Q, state):
    q_first, _ = step_by_columns(Q, torch.zeros(len(Q), dtype=Q.dtype), state, 0)
    v_hat, a_v = step_by_columns(V, q_first, state, 1)
    q_hat, a_q = step_by_columns(Q, v_hat, state, 2)
    return v_hat, q_hat, a_v, a_q


@pytest.mark.parametrize("n, t", [(5, 4), (4, 4), (1, 1)])
@pytest.mark.parametrize("reference, columns, shapes", [
    (co.parallel, by_columns, PARALLEL),
    (co.alternating, alternating_by_columns, STEPS),
])  # fmt: skip
def test_it_is_the_papers_formula(normal, n, t, reference, columns, shapes):
    state, v, q = state_of(shapes, normal), normal(2, n, 3), normal(2, t, 3)
    expected = [torch.stack(parts) for parts in zip(*(columns(v[i].T, q[i].T, state) for i in range(2)), strict=True)]
    got = reference(v, q, state)
    all_equal(got, expected)
    upstream = [normal(*part.shape).detach() for part in got]
    wanted = [v, q, *state.values()]
    all_equal(qkv.gradients(got, upstream, wanted), qkv.gradients(expected, upstream, wanted))


@pytest.mark.parametrize("n, t", [(5, 4), (4, 4)])
@pytest.mark.parametrize("reference, columns, shapes", [
    (co.parallel, by_columns, PARALLEL),
    (co.alternating, alternating_by_columns, STEPS),
])  # fmt: skip
def test_what_is_hidden_is_as_good_as_cut_off(normal, n, t, reference, columns, shapes):
    state, v, q = state_of(shapes, normal), normal(2, n, 3), normal(2, t, 3)
    v_mask, q_mask = torch.tensor([0, 1, 0, 1, 1, 0, 0, 1, 0, 1])[: 2 * n].view(2, n).bool(), torch.ones(2, t).bool()
    q_mask[0, 0] = q_mask[1, 1] = False
    v_hat, q_hat, a_v, a_q = reference(v, q, state, v_mask, q_mask)
    assert not a_v[~v_mask].any() and not a_q[~q_mask].any()
    for i in range(2):
        cut = columns(v[i, v_mask[i]].T, q[i, q_mask[i]].T, state)
        all_equal([v_hat[i], q_hat[i], a_v[i, v_mask[i]], a_q[i, q_mask[i]]], cut)


@pytest.mark.parametrize("reference, shapes", [(co.parallel, PARALLEL), (co.alternating, STEPS)])
def test_where_nothing_is_left_there_is_nothing(normal, reference, shapes):
    """The other side is weighed as if it were told nothing, and gradients are finite."""
    state, v, q = state_of(shapes, normal), normal(1, 5, 3), normal(1, 4, 3)
    got = reference(v, q, state, q_mask=torch.zeros(1, 4).bool())
    v_hat, q_hat, a_v, a_q = got
    assert not q_hat.any() and not a_q.any()
    alone_v, _, alone_a, _ = reference(v, torch.zeros_like(q), state)
    all_equal([v_hat, a_v], [alone_v, alone_a])
    found = qkv.gradients(got, [normal(*part.shape).detach() for part in got], [v, q, *state.values()])
    assert all(gradient.isfinite().all() for gradient in found)
    assert not found[1].any()


def test_the_affinity_is_torchs_bilinear(normal):
    v, q, weight = normal(2, 5, 3), normal(2, 4, 3), normal(3, 3)
    pairs = q[:, :, None].expand(2, 4, 5, 3).contiguous(), v[:, None].expand(2, 4, 5, 3).contiguous()
    expected = torch.tanh(F.bilinear(*pairs, weight[None])[..., 0])
    all_equal([co.affinity(v, q, weight)], [expected])


def test_parallel_by_hand():
    # One feature. The affinities of the only word to both cells are tanh(1) and 0, so the second cell hears nothing.
    state = {"W_b.weight": [[1.0]], "W_v.weight": [[0.0]], "W_q.weight": [[1.0]], "w_hv.weight": [[2.0]]}
    state = {name: torch.tensor(w) for name, w in state.items()} | {"w_hq.weight": torch.tensor([[1.0]])}
    v, q = torch.tensor([[[1.0], [0.0]]]), torch.tensor([[[1.0]]])
    weight = math.exp(2 * math.tanh(math.tanh(1)))
    share = weight / (weight + 1)
    v_hat, q_hat, a_v, a_q = co.parallel(v, q, state)
    assert a_v[0].tolist() == pytest.approx([share, 1 - share])
    assert v_hat.item() == pytest.approx(share)
    assert (a_q.item(), q_hat.item()) == (1.0, 1.0)


def test_alternating_by_hand():
    # Step 1 takes the average word, 1/2. Step 2 adds it to the cells, step 3 does not look at its guide.
    one, zero = torch.tensor([[1.0]]), torch.tensor([[0.0]])
    state = {"steps.0.W_x.weight": one, "steps.0.w_hx.weight": zero}
    state |= {f"steps.1.{name}.weight": one for name in ("W_x", "W_g", "w_hx")}
    state |= {"steps.2.W_x.weight": one, "steps.2.W_g.weight": zero, "steps.2.w_hx.weight": one}
    v, q = torch.tensor([[[0.5], [-0.5]]]), torch.tensor([[[1.0], [0.0]]])
    v_hat, q_hat, a_v, a_q = co.alternating(v, q, state)
    largest = math.exp(math.tanh(1.0))
    share = largest / (largest + 1)
    assert a_v[0].tolist() == pytest.approx([share, 1 - share])
    assert v_hat.item() == pytest.approx(0.5 * share - 0.5 * (1 - share))
    assert a_q[0].tolist() == pytest.approx([share, 1 - share])
    assert q_hat.item() == pytest.approx(share)


def test_nobody_looks_at_the_first_guide_layer(normal):
    state, v, q = state_of(STEPS, normal), normal(2, 5, 3), normal(2, 4, 3)
    without = {name: w for name, w in state.items() if name != "steps.0.W_g.weight"}
    all_equal(co.alternating(v, q, without), co.alternating(v, q, state))
