import os
import multiprocessing
try:
    p = multiprocessing.get_context("fork").Process(target=int); p.start(); p.join()
    print("through: done")
except OSError as error:
    print("held:", error)
