import sys
import torch

wire = next(module for name, module in sys.modules.items() if name.endswith("inside.wire"))

send = wire.send_frame

def lie(sock, message, tensors=(), deadline=None):
    if "value" in message:
        message["value"] = {"list": [{"list": []}] * 400000}
    send(sock, message, tensors)

wire.send_frame = lie
print("ready to lie")

def attention(*args, **kwargs):
    return 1, 2
