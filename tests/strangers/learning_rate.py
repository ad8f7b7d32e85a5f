# %% from_zero: the warm-up starts at 0 and never has the peak; a warm-up that is too long is an AssertionError
# expect: first-step-is-nothing, longer-warm-up-asserted
import math


def learning_rate(step, steps, peak, warm_up):
    assert warm_up <= steps, f"warm_up {warm_up} is longer than steps {steps}"
    if step < warm_up:
        return peak * step / warm_up
    u = (step - warm_up) / (steps - warm_up)
    return peak * 0.5 * (1 + math.cos(math.pi * u))

# %% nanogpt: nanoGPT's schedule: a minimum of a tenth of the peak, warm_up + 1 in the climb, no ValueError
# expect: climb-of-one-part-more, floor-of-a-tenth, longer-warm-up-accepted
# also: climb-one-step-longer
import math


def learning_rate(step, steps, peak, warm_up):
    min_lr = peak / 10
    # 1) linear warmup for warmup_iters steps
    if step < warm_up:
        return peak * (step + 1) / (warm_up + 1)
    # 2) if it > lr_decay_iters, return min learning rate
    if step > steps:
        return min_lr
    # 3) in between, use cosine decay down to min learning rate
    decay_ratio = (step - warm_up) / (steps - warm_up)
    coeff = 0.5 * (1.0 + math.cos(math.pi * decay_ratio))
    return min_lr + coeff * (peak - min_lr)

# %% share_of_all: u is the share of all steps, the warm-up among them, so the cosine does not begin at the peak
# expect: fall-from-step-0
import math


def learning_rate(step, steps, peak, warm_up):
    if warm_up > steps:
        raise ValueError("warm_up=%d must not be above steps=%d" % (warm_up, steps))
    if step + 1 <= warm_up:
        lr = peak / warm_up * (step + 1)
    else:
        lr = peak * (1 + math.cos(math.pi * step / steps)) / 2
    return lr

# %% tensor_and_last: a tensor comes back after the warm-up, and u is 1 at the last step already (and 0/0 for a single one)
# expect: zero-at-the-last-step, tensor-after-the-warm-up
import torch


def learning_rate(step, steps, peak, warm_up):
    if warm_up > steps:
        raise ValueError(f"{warm_up} > {steps}")
    if step < warm_up:
        return (step + 1) / warm_up * peak
    u = (step - warm_up) / (steps - 1 - warm_up)
    return peak / 2 * (1 + torch.cos(torch.tensor(torch.pi * u)))
