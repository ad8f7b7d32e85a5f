import sys
import torch

wire = next(module for name, module in sys.modules.items() if name.endswith("inside.wire"))

send = wire.send_frame
picture = lambda text: {"output_type": "display_data", "data": {"image/png": text}}

def lie(sock, message, tensors=(), deadline=None):
    if "outputs" in message:
        message["outputs"] += [
            picture("iVBORw0KGgo"), picture("iVBORw0KGgoAA"), picture("iVBORw0KGgo="), picture("iVBORw0KGgo" + "A" * 40), picture(3),
            {"output_type": "stream", "text": ["a"]}, {"output_type": "error", "traceback": [[], 3, {}]}, {"output_type": []},
            {"output_type": "display_data", "data": {"text/html": "<script>", "text/plain": {}}}, 7, None, [],
        ]
    send(sock, message, tensors)

wire.send_frame = lie
print("ready to lie")
