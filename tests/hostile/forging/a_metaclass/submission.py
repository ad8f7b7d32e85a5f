import sys
import torch


class Meta(type):
    def __call__(cls, *args, **kwargs): return cls
    def __instancecheck__(cls, other): return True
    def __eq__(cls, other): return True
    __hash__ = type.__hash__
    def __getattr__(cls, name): return lambda *args, **kwargs: cls
    def __iter__(cls): return iter(())

class SelfAttention(metaclass=Meta):
    pass

print("itself:", SelfAttention(1, 2) is SelfAttention)
