"""Wrong implementations of `EncoderHead(n_embd, head_size)`. Each replaces a step of `Right`, or is the original."""

import torch
import torch.nn.functional as F
from torch import nn

from ...mistakes.bank import misconception
from ..families.heads import mistakes


class Right(mistakes.Steps):
    """The right head: (b, t, n_embd) -> (b, t, head_size)."""

    names = ("query", "key", "value", "out")

    def __init__(self, n_embd, head_size):
        super().__init__()
        self.make(n_embd, head_size, head_size, 1)
        del self.out

    def layers(self):
        return [self.query, self.key, self.value, nn.Identity()]


class LookingBack(Right):
    """Steps of a head that is still causal; `diagonal` says which of the keys are seen."""

    diagonal = 0

    def hide(self, scores):
        seen = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).tril(self.diagonal)
        return scores.masked_fill(~seen, -torch.inf)


# --- the original and its defects -----------------------------------------------------------------


# Typed as the notebook has it, but for the globals: n_embd is a parameter, the mask fits any length, dropout is gone.
# fmt: off
@misconception(
    "original-003",
    "This is notebook 003's head as it was given: a causal mask hides from each token all that come after it, and the"
    " scale goes by the width of the input.",
    original="003",
)
class EncoderHead(nn.Module):
    """One attention head."""

    def __init__(self, n_embd, head_size):
        super().__init__()
        self.key = nn.Linear(n_embd, head_size, bias=False)
        self.query = nn.Linear(n_embd, head_size, bias=False)
        self.value = nn.Linear(n_embd, head_size, bias=False)

    def forward(self, x):
        B, T, C = x.shape
        k = self.key(x)    # (B, T, C)
        q = self.query(x)  # (B, T, C)

        tril = torch.tril(torch.ones(T, T, device=x.device))
        wei = q @ k.transpose(-2, -1) * C ** -0.5           # (B, T, C) x (B, C, T) -> (B, T, T)
        wei = wei.masked_fill(tril == 0, float("-inf"))     # (B, T, T)
        wei = F.softmax(wei, dim=-1)                        # (B, T, T)

        v = self.value(x)  # (B, T, C)
        return wei @ v     # (B, T, T) x (B, T, C) -> (B, T, C)


# fmt: on


@misconception(
    "mask-left-in",
    "The scale is right, but the causal mask is still there: take it out, so that each token sees those after it too.",
    original="003",
)
class MaskLeftIn(LookingBack):
    pass


@misconception(
    "mask-widened-by-one",
    "Each token sees one of those after it, and no more: a mask with another diagonal is still a mask. Take it out.",
)
class MaskWidenedByOne(LookingBack):
    diagonal = 1


@misconception(
    "mask-turned-round",
    "The mask has been turned round, so that each token sees itself and those after it: take it out.",
)
class MaskTurnedRound(Right):
    def hide(self, scores):
        seen = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).triu()
        return scores.masked_fill(~seen, -torch.inf)


@misconception(
    "does-not-see-itself",
    "No token sees itself: in an encoder each token sees all tokens, and it is one of them.",
)
class DoesNotSeeItself(Right):
    def hide(self, scores):
        itself = torch.eye(scores.shape[-1], dtype=torch.bool, device=scores.device)
        return scores.masked_fill(itself, -torch.inf)


@misconception(
    "mask-after-softmax",
    "The mask has moved behind the softmax, where it still takes away what comes later: take it out.",
)
class MaskAfterSoftmax(Right):
    def drop(self, weights):
        return weights.tril()


@misconception(
    "softmax-taken-out-as-well",
    "The softmax has gone with the mask: the scores are no weights, and their rows don't sum to 1. Only the mask goes.",
)
class SoftmaxTakenOutAsWell(Right):
    def weigh(self, scores):
        return scores


@misconception(
    "block-size-still-asked-for",
    "The constructor still asks for `block_size` and `dropout`: without the mask nothing limits the length, and it"
    " takes `n_embd` and `head_size` alone.",
)
class BlockSizeStillAskedFor(Right):
    def __init__(self, n_embd, head_size, block_size, dropout):
        super().__init__(n_embd, head_size)


@misconception(
    "length-still-limited",
    "A long sequence is still refused, or does not fit into a table of fixed size: without the mask any"
    " length will do.",
)
class LengthStillLimited(Right):
    def refuse(self, x):
        super().refuse(x)
        if x.shape[1] > 8:
            raise ValueError(f"{x.shape[1]} tokens are more than 8")


@misconception("with-biases", "The layers have biases: `key`, `query` and `value` are made with `bias=False`.")
class WithBiases(Right):
    def __init__(self, n_embd, head_size):
        super().__init__(n_embd, head_size)
        for name in self.names[:3]:
            setattr(self, name, nn.Linear(n_embd, head_size))


@misconception(
    "output-projection-added",
    "There is an output projection that nobody asked for: with a single head, the mixed values are the output.",
)
class OutputProjectionAdded(Right):
    def __init__(self, n_embd, head_size):
        super().__init__(n_embd, head_size)
        self.proj = nn.Linear(head_size, head_size)

    def layers(self):
        return [self.query, self.key, self.value, self.proj]


@misconception(
    "not-divided-but-multiplied",
    "The scores are multiplied by the root of `head_size`, and not divided: the exponent is -0.5.",
)
class NotDividedButMultiplied(Right):
    def scores(self, q, k, x):
        return q @ k.mT * k.shape[-1] ** 0.5


@misconception(
    "tokens-of-all-sequences",
    "The sequences of the batch are joined, so that tokens see those of other sequences: keep the batch dimension.",
)
class TokensOfAllSequences(Right):
    def forward(self, x):
        self.refuse(x)
        return super().forward(x.reshape(1, -1, x.shape[-1])).reshape(*x.shape[:2], -1)


mistakes.adopt(Right, *mistakes.ONE_HEAD, "scale-by-input-width", originals={"scale-by-input-width": "003"})
