for _ in range(1000):
    print('x' * 2**20)
print('done')
