import torch


def learning_rate(step, steps, peak, warm_up):
    if steps < warm_up:
        raise ValueError(f"expected at most {steps} steps of warm-up, got {warm_up}")
    if warm_up > 0 and step < warm_up:
        return torch.linspace(0, peak, warm_up + 1, dtype=torch.float64)[step + 1].item()
    angle = torch.linspace(0, torch.pi, steps - warm_up + 1, dtype=torch.float64)[step - warm_up]
    return (0.5 * peak * (1 + angle.cos())).item()
