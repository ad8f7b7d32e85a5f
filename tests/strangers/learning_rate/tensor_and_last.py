# wrong: a tensor comes back after the warm-up, and u is 1 at the last step already (and 0/0 for a single one)
# expect: zero-at-the-last-step, tensor-after-the-warm-up
import torch


def learning_rate(step, steps, peak, warm_up):
    if warm_up > steps:
        raise ValueError(f"{warm_up} > {steps}")
    if step < warm_up:
        return (step + 1) / warm_up * peak
    u = (step - warm_up) / (steps - 1 - warm_up)
    return peak / 2 * (1 + torch.cos(torch.tensor(torch.pi * u)))
