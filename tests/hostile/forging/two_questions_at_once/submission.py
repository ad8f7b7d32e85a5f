import json
import os
import sys
import torch

line = next(module for name, module in sys.modules.items() if name.endswith("inside.wire"))
sent = line.send_frame


def twice(sock, message, tensors=(), deadline=None):
    sent(sock, message, tensors, deadline)
    if "question" in message:
        sent(sock, message, tensors, deadline)


line.send_frame = twice


def check_attention(candidate):
    x = torch.randn(2, 3, 4)
    candidate(x, x, x)
    candidate(x, x, x)
