import os
import signal
try:
    signal.pidfd_send_signal(os.pidfd_open(@victim@), 9)
    print("through: done")
except OSError as error:
    print("held:", error)
