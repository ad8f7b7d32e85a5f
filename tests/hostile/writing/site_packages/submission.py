import os
import torch
try:
    path = torch.__file__; open(path, "r+").close()
    print("through: done")
except OSError as error:
    print("held:", error)
