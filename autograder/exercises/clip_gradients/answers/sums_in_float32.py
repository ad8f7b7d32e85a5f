import torch


def clip_gradients(gradients, max_norm):
    """The squares are added up in float32, as the exercise allows, whatever the gradients' dtype."""
    there = [gradient for gradient in gradients if gradient is not None]
    length = torch.sqrt(sum((gradient.float() ** 2).sum() for gradient in there)) if there else torch.zeros(())
    if length <= max_norm:
        return list(gradients)
    factor = (max_norm / length).item()
    return [None if gradient is None else gradient * factor for gradient in gradients]
