try:
    x = bytearray(64 * 2**30)
    print('through:', len(x))
except MemoryError:
    print('held: MemoryError')
