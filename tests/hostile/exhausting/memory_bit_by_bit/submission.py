x = []
try:
    while True:
        x.append(bytearray(2**26))
except MemoryError:
    count = len(x)
    del x
    print('held: after', count * 2**26 // 2**20, 'MiB', count < 40)
