# wrong: nanoGPT's schedule: a minimum of a tenth of the peak, warm_up + 1 in the climb, no ValueError
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
