"""By torch's own schedules, walked through step by step."""

import torch


def learning_rate(step, steps, peak, warm_up):
    if warm_up > steps:
        raise ValueError(f"the warm-up has {warm_up} steps, the training {steps}")
    if step < warm_up:
        return peak * (step + 1) / warm_up
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=peak)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=steps - warm_up)
    for _ in range(step - warm_up):
        optimizer.step()
        schedule.step()
    return optimizer.param_groups[0]["lr"]
