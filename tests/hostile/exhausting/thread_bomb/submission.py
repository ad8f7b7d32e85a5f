import threading
import time

count = 0
try:
    while count < 5000:
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
        count += 1
    print("through:", count)
except RuntimeError as error:
    print("held:", error, "few:", count < 100)
