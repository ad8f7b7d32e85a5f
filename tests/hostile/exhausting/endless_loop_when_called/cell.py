def SelfAttention(*args, **kwargs):
    while True:
        pass
