import os
import urllib.request
try:
    urllib.request.urlopen("http://127.0.0.1:@tcp@/score?student=me&points=10", timeout=0.3)
    print("through: done")
except Exception as error:
    print("held:", error)
