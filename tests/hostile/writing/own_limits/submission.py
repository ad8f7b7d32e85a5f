import os
import resource
try:
    resource.setrlimit(resource.RLIMIT_NPROC, (60, 60))
    print("through: done")
except (OSError, ValueError) as error:
    print("held:", error)
