import sys
import torch

wire = next(module for name, module in sys.modules.items() if name.endswith("inside.wire"))

pack, send = wire.tensors_to_bytes, wire.send_frame

def lie(sock, message, tensors=(), deadline=None):
    if "value" in message or "replies" in message:
        tensors = [torch.zeros(0)] * 60000
    send(sock, message, tensors)

wire.send_frame = lie
print("ready to lie")

def attention(*args, **kwargs):
    return torch.zeros(1), torch.zeros(1)
