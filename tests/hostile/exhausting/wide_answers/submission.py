import sys
import torch

wire = next(module for name, module in sys.modules.items() if name.endswith("inside.wire"))

send = wire.send_frame

def lie(sock, message, tensors=(), deadline=None):
    for reply in message.get("replies", [message]):
        if "value" in reply:
            reply["value"] = {"list": [{"list": []}] * 100000}
    send(sock, message, tensors)

wire.send_frame = lie
print("ready to lie")

def causal_mask(*args, **kwargs):
    return 1, 2
