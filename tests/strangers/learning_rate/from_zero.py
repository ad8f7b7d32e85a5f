# wrong: the warm-up starts at 0 and never has the peak; a warm-up that is too long is an AssertionError
# expect: first-step-is-nothing, longer-warm-up-asserted
import math


def learning_rate(step, steps, peak, warm_up):
    assert warm_up <= steps, f"warm_up {warm_up} is longer than steps {steps}"
    if step < warm_up:
        return peak * step / warm_up
    u = (step - warm_up) / (steps - warm_up)
    return peak * 0.5 * (1 + math.cos(math.pi * u))
