Long = type("x" * 10**6, (Exception,), {})

def attention(*args, **kwargs):
    if len(args) > 3:
        raise Long("y" * 10**6)
    return {"k" * 10**6: 1}, Long()

print("long:", len(Long.__name__))
