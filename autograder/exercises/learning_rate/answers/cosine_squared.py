import math


def learning_rate(step, steps, peak, warm_up):
    """The half cosine as a square: (1 + cos 2a) / 2 = cos² a."""
    if warm_up > steps:
        raise ValueError(f"warm_up={warm_up}, but there are only {steps} steps")
    if step < warm_up:
        return peak / warm_up * (step + 1)
    return peak * math.cos(math.pi / 2 * (step - warm_up) / (steps - warm_up)) ** 2
