def clip_gradients(gradients, max_norm):
    total = 0.0
    for gradient in gradients:
        if gradient is not None:
            total += float((gradient.double() ** 2).sum())
    length = total**0.5
    result = []
    for gradient in gradients:
        if gradient is None or length <= max_norm:
            result.append(gradient)
        else:
            result.append(gradient.mul(max_norm / length))
    return result
