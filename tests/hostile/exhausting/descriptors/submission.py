import os

count = 0
try:
    while count < 5000:
        os.dup(3)
        count += 1
    print("through:", count)
except OSError as error:
    print("held:", error)
