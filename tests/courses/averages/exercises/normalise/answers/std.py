def normalise(x):
    if x.dim() != 1:
        raise ValueError("a vector is needed")
    return (x - x.mean()) / x.std(correction=0)
