"""Notebook 003's language model by definition: token and position embeddings, causal heads, logits, mean loss.

Weights have the module's own names: `token_embedding_table.weight` (vocabulary, d), `position_embedding_table.weight`
(block, d), `sa_head.heads.I.PART.weight` for the query, key and value of every head, `sa_head.proj` and `lm_head` with
weight and bias. Everything is computed in float64 and can be differentiated.
"""

import torch

from . import heads, qkv
from .remembered import remembered


def shapes(vocab_size: int, n_embd: int, block_size: int, num_heads: int) -> dict[str, tuple[int, ...]]:
    """The shape of every parameter by name."""
    inside = {
        f"sa_head.heads.{head}.{part}.weight": (n_embd // num_heads, n_embd)
        for head in range(num_heads)
        for part in heads.PARTS
    }
    return {
        "token_embedding_table.weight": (vocab_size, n_embd),
        "position_embedding_table.weight": (block_size, n_embd),
        **inside,
        "sa_head.proj.weight": (n_embd, n_embd // num_heads * num_heads),
        "sa_head.proj.bias": (n_embd,),
        "lm_head.weight": (vocab_size, n_embd),
        "lm_head.bias": (vocab_size,),
    }


def stacked(state: qkv.State) -> tuple[dict[str, torch.Tensor], int]:
    """The weights of `sa_head` in the form of `reference.heads`, and the number of heads."""
    number = len({name.split(".")[2] for name in state if name.startswith("sa_head.heads.")})
    inside = {
        f"{part}.weight": torch.cat([state[f"sa_head.heads.{head}.{part}.weight"] for head in range(number)])
        for part in heads.PARTS
    }
    return {**inside, "out.weight": state["sa_head.proj.weight"], "out.bias": state["sa_head.proj.bias"]}, number


@remembered
def logits(idx: torch.Tensor, state: qkv.State) -> torch.Tensor:
    """Tokens (b, t) -> (b, t, vocabulary)."""
    rows = [torch.stack([state["token_embedding_table.weight"][token] for token in row]) for row in idx.tolist()]
    places = state["position_embedding_table.weight"][: idx.shape[1]]  # (t, d), from position 0
    x = torch.stack(rows).double() + places.double()  # (b, t, d) + (t, d)
    found = heads.multi_head(x, *stacked(state), is_causal=True)  # (b, t, d)
    return qkv.project(found, state["lm_head.weight"], state["lm_head.bias"])


@remembered
def gradients(
    idx: torch.Tensor, targets: torch.Tensor, state: qkv.State, of_logits: torch.Tensor, of_loss: torch.Tensor
) -> list[dict[str, torch.Tensor]]:
    """The gradients of all weights by name, twice: for `of_logits`, (b, t, vocabulary), and for `of_loss`, ()."""
    leaves = {name: weight.clone().requires_grad_() for name, weight in state.items()}
    made = logits(idx, leaves)
    found = []
    for output, upstream in ((loss(made, targets), of_loss), (made, of_logits)):
        slopes = torch.autograd.grad(output, list(leaves.values()), upstream, retain_graph=output is not made)
        found.insert(0, dict(zip(leaves, slopes, strict=True)))
    return found


@remembered
def loss(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """The mean over all b·t positions of −log softmax(logits)[target]: (b, t, vocabulary) and (b, t) -> ()."""
    logits = logits.double()
    largest = logits.detach().amax(-1, keepdim=True)  # any shift cancels out; this one keeps exp() in range
    shifted = logits - largest
    total = shifted.exp().sum(-1).log()  # (b, t)
    places = [(b, t) for b in range(targets.shape[0]) for t in range(targets.shape[1])]
    return torch.stack([total[b, t] - shifted[b, t, int(targets[b, t])] for b, t in places]).sum() / len(places)
