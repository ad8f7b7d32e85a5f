import os

text, found = "", []
for number in range(4, 1024):
    try:
        os.lseek(number, 0, 0)
        text += os.read(number, 100).decode(errors="replace")
        found.append(number)
    except OSError:
        pass
print("through:" if text else "held: no descriptor holds anything", text, found)
