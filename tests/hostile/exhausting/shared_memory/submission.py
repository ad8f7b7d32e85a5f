import mmap

try:
    x = mmap.mmap(-1, 6 * 2**30, flags=mmap.MAP_SHARED)
    for place in range(0, len(x), mmap.PAGESIZE):
        x[place] = 1
    print('through:', len(x))
except OSError as error:
    print('held:', error)
