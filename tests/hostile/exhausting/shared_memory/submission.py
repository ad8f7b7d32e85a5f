import mmap

try:
    x = mmap.mmap(-1, 64 * 2**30, flags=mmap.MAP_SHARED)
    print('through:', len(x))
except OSError as error:
    print('held:', error)
