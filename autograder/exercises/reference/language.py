"""The parts of a character model by definition: tokens, blocks of text, sampling, training, in float64.

The stub models that submissions get (sandbox/inside/stubs.py) are implemented here a second time. AdamW follows
Loshchilov and Hutter 2019, "Decoupled Weight Decay Regularization", Algorithm 2, with torch's settings.
"""

import itertools
import math
from collections.abc import Callable, Sequence

import torch

from .qkv import State
from .remembered import remembered

BETAS, EPS, DECAY = (0.9, 0.999), 1e-8, 0.01

# --- text and blocks ------------------------------------------------------------------------------


def vocabulary(text: str) -> list[str]:
    """The different characters of a text, sorted by code point."""
    return sorted(dict.fromkeys(text), key=ord)


@remembered
def blocks(data: torch.Tensor, block_size: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Every block of a text and its targets, by start: (n,) -> (n - block_size, block_size) twice."""
    tokens, starts = data.tolist(), range(len(data) - block_size)
    inputs = [[tokens[s + i] for i in range(block_size)] for s in starts]
    targets = [[tokens[s + i + 1] for i in range(block_size)] for s in starts]
    return torch.tensor(inputs), torch.tensor(targets)


# --- a text with a memory -------------------------------------------------------------------------


def made_text(length: int, vocab_size: int, noise: float, draw: torch.Generator) -> torch.Tensor:
    """A text in which the third character from the end decides the next: (length,), int64.

    The next character is π of the one three places before it, for a random permutation π; but with probability `noise`
    it is any of the v characters. So a model that looks back less than three characters learns nothing about the next.
    (A rule on several characters together would demand more, but how many steps it takes to learn varies widely: with
    sums modulo 4, one run in six had not learnt it after 100 steps.)
    """
    v = vocab_size
    permutation = torch.randperm(v, generator=draw).tolist()
    text = torch.randint(v, (length,), generator=draw).tolist()  # the characters where chance decides
    chance = (torch.rand(length, generator=draw) < noise).tolist()
    for i in range(3, length):
        if not chance[i]:
            text[i] = permutation[text[i - 3]]
    return torch.tensor(text)


def full_loss(vocab_size: int, noise: float, block_size: int) -> float:
    """The mean loss, in blocks, of a model that knows the rule.

    The first two tokens of a block have too little before them to tell what comes next. From the third on, the loss is
    the entropy of a character given the ones before it.
    """
    other = noise / vocab_size
    right = 1 - noise + other
    entropy = -right * math.log(right) - (vocab_size - 1) * other * math.log(other)
    return (2 * math.log(vocab_size) + (block_size - 2) * entropy) / block_size


@remembered
def bigram_loss(data: torch.Tensor, vocab_size: int) -> float:
    """The mean loss of a bigram table (how often each character follows each), counted on this same text, (n,)."""
    counts = torch.zeros(vocab_size, vocab_size, dtype=torch.float64)
    for one, other in itertools.pairwise(data.tolist()):
        counts[one, other] += 1
    chances = counts / counts.sum(1, keepdim=True).clamp(min=1)
    return -torch.xlogy(counts, chances).sum().item() / (len(data) - 1)


# --- the stub models ------------------------------------------------------------------------------


def rolled_sum(tokens: torch.Tensor, weights: Sequence[int], vocab_size: int) -> torch.Tensor:
    """A `Rolled` stub's sum over the last tokens, modulo the vocabulary, in eval mode: (b, t) -> (b,)."""
    total = torch.zeros(len(tokens), dtype=torch.int64)
    for back, weight in enumerate(weights[: tokens.shape[1]], start=1):
        total += weight * tokens[:, -back]
    return total % vocab_size


@remembered
def continued(prompts: torch.Tensor, weights: Sequence[int], vocab_size: int, new: int) -> torch.Tensor:
    """Prompts (b, t) and `new` tokens, each at the first logit of a `Rolled` stub's profile: (b, t + new)."""
    tokens = prompts
    for _ in range(new):
        tokens = torch.cat([tokens, rolled_sum(tokens, weights, vocab_size)[:, None]], dim=1)
    return tokens


@remembered
def window_logits(idx: torch.Tensor, state: State, memory: int) -> torch.Tensor:
    """The logits of a `Window` stub with these weights in eval mode: (b, t) -> (b, t, vocabulary), differentiable."""
    start = state["embedding.weight"].shape[0] - 1
    b, t = idx.shape
    begun = torch.cat([torch.full((b, memory - 1), start), idx], dim=1)
    back = torch.stack([begun[:, i : i + memory] for i in range(t)], dim=1)  # (b, t, memory)
    tokens = state["embedding.weight"][back].flatten(2)
    hidden = torch.tanh(tokens @ state["hidden.weight"].T + state["hidden.bias"])
    return hidden @ state["out.weight"].T + state["out.bias"]


def table_logits(idx: torch.Tensor, state: State) -> torch.Tensor:
    """The logits of a `Table` stub with these weights in eval mode: (b, t) -> (b, t, vocabulary), differentiable."""
    return state["rows.weight"][idx]


@remembered
def losses(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """The loss of every token: (b, t, v), (b, t) -> (b, t)."""
    picked = logits.gather(-1, targets[..., None])[..., 0]
    return torch.logsumexp(logits, -1) - picked


def adamw(
    state: State,
    loss_of: Callable[[dict[str, torch.Tensor]], torch.Tensor],
    rates: Sequence[float],
    max_norm: float = math.inf,
) -> tuple[list[float], dict[str, torch.Tensor]]:
    """Train weights by name with AdamW: (the loss before each step, the weights after the last), in float64.

    `loss_of(state)` is the loss of a step, `rates` has the learning rate of each. Gradients that are longer than
    `max_norm` together are shortened to it. `state` itself stays as it is.
    """
    weights = torch.cat([weight.detach().double().flatten() for weight in state.values()])  # all in one, to be quick
    sizes = [weight.numel() for weight in state.values()]

    def named(weights: torch.Tensor) -> dict[str, torch.Tensor]:
        return {name: part.view(state[name].shape) for name, part in zip(state, weights.split(sizes), strict=True)}

    first, second, found = torch.zeros_like(weights), torch.zeros_like(weights), []
    for step, lr in enumerate(rates, start=1):
        loss = loss_of(named(weights.requires_grad_()))
        found.append(loss.item())
        (slope,) = torch.autograd.grad(loss, weights)
        slope *= min(1.0, max_norm / slope.norm().clamp(min=1e-300).item())
        weights = weights.detach()
        first = BETAS[0] * first + (1 - BETAS[0]) * slope
        second = BETAS[1] * second + (1 - BETAS[1]) * slope**2
        mean, square = first / (1 - BETAS[0] ** step), second / (1 - BETAS[1] ** step)
        weights = weights - lr * mean / (square.sqrt() + EPS) - lr * DECAY * weights
    return found, {name: weight.clone() for name, weight in named(weights).items()}


# --- the recipe, and the tail ---------------------------------------------------------------------


def learning_rate(step: int, steps: int, peak: float, warm_up: int) -> float:
    """Up along a line, then down along half a cosine (Loshchilov and Hutter 2017, equation 5, without restarts)."""
    if step < warm_up:
        return peak * (step + 1) / warm_up
    return peak * math.cos(math.pi / 2 * (step - warm_up) / (steps - warm_up)) ** 2


def clipped(gradients: Sequence[torch.Tensor | None], max_norm: float) -> list[torch.Tensor | None]:
    """The gradients, all shortened by one factor where they are longer than `max_norm` together, in float64."""
    there = [gradient.double() for gradient in gradients if gradient is not None]
    length = math.sqrt(sum(number * number for gradient in there for number in gradient.flatten().tolist()))
    factor = max_norm / length if length > max_norm else 1.0
    return [None if gradient is None else gradient.double() * factor for gradient in gradients]


def nucleus(logits: torch.Tensor, p: float) -> torch.Tensor:
    """Which tokens top-p leaves (Holtzman et al. 2020, equation 2), one row after the other: (…, v) -> the same."""
    left = torch.zeros(logits.shape, dtype=torch.bool)
    for row, marks in zip(logits.double().reshape(-1, logits.shape[-1]), left.view(-1, logits.shape[-1]), strict=True):
        chances = row.softmax(-1)
        together = 0.0
        for token in sorted(range(len(row)), key=lambda token, c=chances: -c[token].item()):
            marks[token] = True
            together += chances[token].item()
            if together >= p:
                break
    return left


def margin(logits: torch.Tensor, p: float) -> float:
    """How far p is from every probability at which top-p would leave one token more or less, over all rows."""
    sums = logits.double().softmax(-1).sort(-1, descending=True).values.cumsum(-1)
    return (sums - p).abs().min().item()
