def attention(depth=0, *args, **kwargs):
    try:
        deeper(0)
    except RuntimeError as error:
        raise ValueError("deep") from error

def deeper(depth):
    if depth == 900:
        raise RuntimeError("deep")
    deeper(depth + 1)
