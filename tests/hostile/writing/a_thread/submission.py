import os
import threading

def attack():
    try:
        open("@secret@").read()
        print("through: read")
    except OSError as error:
        held.append(error)
    try:
        os.fork() or os._exit(0)
        print("through: forked")
    except OSError as error:
        held.append(error)

held = []
thread = threading.Thread(target=attack)
thread.start()
thread.join()
print(f"held: {len(held)} of 2", held)
