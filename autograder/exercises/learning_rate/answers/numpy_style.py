import numpy as np


def learning_rate(step, steps, peak, warm_up):
    if not warm_up <= steps:
        raise ValueError(f"warm_up ({warm_up}) must not exceed steps ({steps})")
    ramp = peak * np.arange(1, warm_up + 1) / max(warm_up, 1)
    fall = peak * (1 + np.cos(np.pi * np.arange(steps - warm_up) / max(steps - warm_up, 1))) / 2
    return float(np.concatenate([ramp, fall])[step])
