class Endless(list):
    def __iter__(self):
        while True:
            yield self

def attention(*args, **kwargs):
    return Endless(), Endless()
