import os
import subprocess
import sys
try:
    subprocess.run([sys.executable, "-S", "-c", ""], check=True)
    print("through: done")
except OSError as error:
    print("held:", error)
