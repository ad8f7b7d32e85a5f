import sys
import threading

sys.setswitchinterval(1000)

def spin():
    while True:
        pass

threading.Thread(target=spin, daemon=True).start()
