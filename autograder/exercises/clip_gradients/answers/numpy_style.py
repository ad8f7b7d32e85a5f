import numpy as np


def clip_gradients(gradients: list, max_norm: float) -> list:
    length = np.sqrt(sum(np.square(g.double().cpu().numpy()).sum() for g in gradients if g is not None))
    factor = max_norm / length if length > max_norm else 1.0
    return [(g * float(factor)) if g is not None else None for g in gradients]
