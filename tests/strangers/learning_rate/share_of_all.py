# wrong: u is the share of all steps, the warm-up among them, so the cosine does not begin at the peak
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
