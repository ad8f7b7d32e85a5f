import os

try:
    print("through:", [n for n in os.listdir("@project@") if n != ".venv"][0])
except (OSError, ImportError) as error:
    print("held:", error)
