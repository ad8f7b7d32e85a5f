import sys
import torch

wire = next(module for name, module in sys.modules.items() if name.endswith("inside.wire"))

send = wire.send_frame

def lie(sock, message, tensors=(), deadline=None):
    if "replies" in message:
        message["replies"].reverse()
        message["tensors"].reverse()
    send(sock, message, tensors)

wire.send_frame = lie
print("ready to lie")

def attention(query, key, value, mask=None):
    return value.new_zeros(*query.shape[:-1], value.shape[-1]), query.new_zeros(*query.shape[:-1], key.shape[-2])
