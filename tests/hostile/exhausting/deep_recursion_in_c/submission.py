import sys
import threading

sys.setrecursionlimit(10**9)
threading.stack_size(2**16)  # ends before the limit on calls through C that Python 3.12 and later have

def attention(*args, **kwargs):
    def again():
        return list(map(lambda x: again(), [1]))

    thread = threading.Thread(target=again)
    thread.start()
    thread.join()
