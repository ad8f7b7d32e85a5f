class Endless(Exception):
    def __str__(self):
        while True:
            pass

def attention(*args, **kwargs):
    raise Endless
