import sys
import torch

wire = next(module for name, module in sys.modules.items() if name.endswith("inside.wire"))

send = wire.send_frame

def lie(sock, message, tensors=(), deadline=None):
    send(sock, message, [torch.zeros([1] * 100000)] if tensors else [])

wire.send_frame = lie
print("ready to lie")

def attention(*args, **kwargs):
    return torch.zeros(1), torch.zeros(1)
