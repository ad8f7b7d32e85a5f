# wrong: each number is cut to between -max_norm and max_norm, as Keras' clipvalue does; no None is expected
# expect: each-number-cut, none-not-expected
# also: fact-is-none
import torch


def clip_gradients(gradients, max_norm):
    return [torch.clamp(grad, min=-max_norm, max=max_norm) for grad in gradients]
