import sys
import torch

wire = next(module for name, module in sys.modules.items() if name.endswith("inside.wire"))

import itertools

send = wire.send_frame
errors = itertools.cycle([
    None, 3, [], {"type": ["ValueError"] * 10**5, "message": {"a": 1}, "where": {"file": [], "line": 10**4000, "code": 7}},
    {"type": None, "message": "\ud800" * 10**6, "where": {"line": True}}, {"type": "ValueError", "message": "2 3 4", "where": [1]},
])

def lie(sock, message, tensors=(), deadline=None):
    for reply in message.get("replies", [message]):
        if "value" in reply:
            reply.update({"ok": 0, "error": next(errors)})
    send(sock, message, tensors if "replies" in message else ())

wire.send_frame = lie
print("ready to lie")

def attention(query, key, value, mask=None):
    return value.new_zeros(*query.shape[:-1], value.shape[-1]), query.new_zeros(*query.shape[:-1], key.shape[-2])
