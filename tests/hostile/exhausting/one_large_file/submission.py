try:
    file = open('x', 'wb')
    file.seek(2**33)
    file.write(b'x')
    file.flush()
    print('through: written')
except OSError as error:
    print('held:', error)
