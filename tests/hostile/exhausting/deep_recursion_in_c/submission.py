import sys

sys.setrecursionlimit(10**9)

def attention(*args, **kwargs):
    return attention(*map(lambda x: attention(x), [1]))
