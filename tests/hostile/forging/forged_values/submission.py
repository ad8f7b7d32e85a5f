import sys
import torch

wire = next(module for name, module in sys.modules.items() if name.endswith("inside.wire"))

import itertools

send = wire.send_frame
values = itertools.cycle([
    {"tensor": 0}, {"tensor": -1}, {"tensor": True}, {"meta": [2**39, 2**39], "dtype": "float32"}, {"meta": "23", "dtype": "x"},
    {"meta": [2, 5, 6], "dtype": []}, {"value": {"a": []}}, {"value": 10**4000}, {"list": {}}, {"dict": [["a"]]}, {"dict": 7},
    {"tuple": [{"value": 1}] * 30000}, {"float": "x"}, {"dtype": "complex64"}, {"handle": 0}, {"opaque": {}}, {}, [], None, 3, "tensor",
])

def lie(sock, message, tensors=(), deadline=None):
    for reply in message.get("replies", [message]):
        if "value" in reply:
            reply.update({"value": next(values), "devices": {"a": 1}, "products": "many", "gradients": 3})
    send(sock, message, tensors if "replies" in message else ())

wire.send_frame = lie
print("ready to lie")

def attention(query, key, value, mask=None):
    return value.new_zeros(*query.shape[:-1], value.shape[-1]), query.new_zeros(*query.shape[:-1], key.shape[-2])
