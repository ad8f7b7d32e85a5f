# %% everything_scaled: position interpolation, and the temperature comes as well
# expect: all-divided, temperature-returned-too
import math

import torch


def yarn_frequencies(head_dim, base, factor, original_length, slow=1, fast=32):
    if head_dim % 2:
        raise ValueError("odd")
    theta = base ** (-torch.arange(0, head_dim, 2) / head_dim)
    return theta / factor, 0.1 * math.log(factor) + 1

# %% gamma_turned_round: gamma is the share that is divided
# expect: bands-exchanged
import math

import torch


def yarn_frequencies(head_dim, base, factor, original_length, slow=1, fast=32):
    if head_dim % 2:
        raise ValueError(f"odd head_dim {head_dim}")
    theta = base ** (-torch.arange(0, head_dim, 2).double() / head_dim)
    r = original_length * theta / (2 * math.pi)
    gamma = torch.clamp((r - slow) / (fast - slow), 0, 1)
    return (1 - gamma) * theta + gamma * theta / factor

# %% hugging_face: the ramp of the released code, over the index of the pairs
# expect: ramp-over-pairs
import math

import torch


def yarn_frequencies(head_dim, base, factor, original_length, slow=1, fast=32):
    def pair_of(turns):
        return head_dim * math.log(original_length / (turns * 2 * math.pi)) / (2 * math.log(base))

    if head_dim % 2 != 0:
        raise ValueError("head_dim must be even")
    low, high = max(math.floor(pair_of(fast)), 0), min(math.ceil(pair_of(slow)), head_dim - 1)
    inv_freq = 1.0 / base ** (torch.arange(0, head_dim, 2).float() / head_dim)
    ramp = ((torch.arange(head_dim // 2).float() - low) / max(high - low, 0.001)).clamp(0, 1)
    return inv_freq / factor * ramp + inv_freq * (1 - ramp)

# %% no_clamp: gamma is not cut
# expect: not-cut-at-the-ends
import math

import torch


def yarn_frequencies(head_dim, base, factor, original_length, slow=1, fast=32):
    if head_dim % 2:
        raise ValueError(f"odd head_dim {head_dim}")
    i = torch.arange(head_dim // 2)
    theta = 1 / base ** (2 * i / head_dim)
    r = original_length * theta / (2 * math.pi)
    gamma = (r - slow) / (fast - slow)
    return gamma * theta + (1 - gamma) * theta / factor

# %% no_two_pi: turns without 2 pi, and odd widths are taken
# expect: angles-for-turns, odd-width-accepted
import math

import torch


def yarn_frequencies(head_dim, base, factor, original_length, slow=1, fast=32):
    theta = base ** (-torch.arange(0, head_dim, 2).float() / head_dim)
    r = original_length * theta
    gamma = ((r - slow) / (fast - slow)).clamp(0, 1)
    return gamma * theta + (1 - gamma) * theta / factor

# %% ramp_by_hand: a step in place of the ramp: half for all between
# expect: halfway-between
import math

import torch


def yarn_frequencies(head_dim, base, factor, original_length, slow=1, fast=32):
    if head_dim % 2:
        raise ValueError("odd")
    out = []
    for i in range(0, head_dim, 2):
        theta = base ** (-i / head_dim)
        turns = original_length * theta / 2 / math.pi
        if turns >= fast:
            out.append(theta)
        elif turns <= slow:
            out.append(theta / factor)
        else:
            out.append((theta + theta / factor) / 2)
    return torch.tensor(out)

# %% whole_length: turns are counted in the stretched text, and exponents go by i
# expect: exponent-i, turns-in-the-longer-text
import math

import torch


def yarn_frequencies(head_dim, base, factor, original_length, slow=1, fast=32):
    if head_dim % 2:
        raise ValueError(f"odd head_dim {head_dim}")
    i = torch.arange(head_dim // 2)
    theta = base ** (-i / head_dim)
    r = original_length * factor * theta / (2 * math.pi)
    gamma = ((r - slow) / (fast - slow)).clamp(0, 1)
    return gamma * theta + (1 - gamma) * theta / factor
