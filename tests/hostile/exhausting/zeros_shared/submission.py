import mmap

try:
    with open("/dev/zero", "rb") as file:
        x = mmap.mmap(file.fileno(), 2**20, prot=mmap.PROT_READ)
    print('through:', sum(x[:: mmap.PAGESIZE]))
except OSError as error:
    print('held:', error)
