try:
    for number in range(1000):
        open(str(number), 'wb').write(bytes(2**20))
    print('through:', number)
except OSError as error:
    print('held:', error)
