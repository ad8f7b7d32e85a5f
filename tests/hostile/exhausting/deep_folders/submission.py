import os

for number in range(3000):
    os.mkdir("d")
    os.chdir("d")
os.mkdir("closed", 0)
print("deep:", number + 1)
