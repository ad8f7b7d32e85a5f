import sys
import torch

wire = next(module for name, module in sys.modules.items() if name.endswith("inside.wire"))

import json

send = wire.send_frame

def lie(sock, message, tensors=(), deadline=None):
    send(sock, message, tensors)
    wire.send_frame = send
    for n in range(message["n"] + 1, message["n"] + 200):
        send(sock, {"n": n, "ok": True, "kinds": {"attention": "callable"}, "value": {"value": True}, "devices": ["cpu"]})

wire.send_frame = lie
print("ready to lie")
