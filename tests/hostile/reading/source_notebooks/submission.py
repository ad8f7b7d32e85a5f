import os

try:
    print("through:", open("@project@/source/02_queries_keys_values/02_queries_keys_values.ipynb").read()[:99])
except (OSError, ImportError) as error:
    print("held:", error)
