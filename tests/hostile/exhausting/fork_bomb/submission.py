import os

while True:
    try:
        os.fork()
    except OSError as error:
        print('held:', error)
        break
