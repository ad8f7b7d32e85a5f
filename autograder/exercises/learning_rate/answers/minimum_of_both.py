from math import cos, pi


def learning_rate(step: int, steps: int, peak: float, warm_up: int) -> float:
    if warm_up > steps:
        raise ValueError(f"{warm_up} > {steps}")
    climb = (step + 1) / warm_up if warm_up else 1.0
    if climb <= 1.0 and step < warm_up:
        share = climb
    else:
        share = 0.5 * (1.0 + cos(pi * (step - warm_up) / max(1, steps - warm_up)))
    return peak * share
