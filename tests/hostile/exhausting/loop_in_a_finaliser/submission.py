class Sticky:
    def __del__(self):
        while True:
            pass

def attention(*args, **kwargs):
    Sticky()
