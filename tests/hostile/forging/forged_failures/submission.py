import sys
import torch

wire = next(module for name, module in sys.modules.items() if name.endswith("inside.wire"))

import itertools

send = wire.send_frame
places = itertools.cycle([-1, 10**4000, "0", None, True, [0], 1.5])

def lie(sock, message, tensors=(), deadline=None):
    if not message.get("ok"):
        message = {**message, "failed": next(places)}
    send(sock, message, tensors)

class SelfAttention(torch.nn.Module):
    def __init__(self, *args):
        super().__init__()

wire.send_frame = lie
print("ready to lie")
