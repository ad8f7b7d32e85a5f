import json

LIE = """
import sys

wire = next(module for name, module in sys.modules.items() if name.endswith("inside.wire"))
send = wire.send_frame

def lie(sock, message, tensors=(), deadline=None):
    if "outputs" in message:
        message["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "x" * 180_000}] * 40
    send(sock, message, tensors)

wire.send_frame = lie
"""


def make(place, notebook):
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    notebook["cells"] = [{**cell, "id": f"cell-{n}", "source": "pass" if n else LIE} for n in range(50)]
    path = place / "02_queries_keys_values.ipynb"
    path.write_text(json.dumps(notebook))
    return path
