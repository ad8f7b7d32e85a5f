import mmap

kept = []
try:
    for _ in range(7):
        x = mmap.mmap(-1, 320 * 2**20)
        for place in range(0, len(x), mmap.PAGESIZE):
            x[place] = 1
        x.resize(mmap.PAGESIZE)
        kept.append(x)
    print('through:', len(kept))
except OSError as error:
    print('held:', error)
