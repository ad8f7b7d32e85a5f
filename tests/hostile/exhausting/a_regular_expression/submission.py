import re

def attention(*args, **kwargs):
    re.match("(a+)+$", "a" * 60 + "b")
