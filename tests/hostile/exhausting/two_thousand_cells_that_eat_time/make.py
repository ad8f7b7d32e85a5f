import json

EAT = """
import time
while True:
    try:
        time.sleep(3600)
    except KeyboardInterrupt:
        time.sleep(0.1)
        break
"""


def make(place, notebook):
    """Each lets itself be interrupted in the end, so that its process lives, and the next one is run."""
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    notebook["cells"] = [{**cell, "id": f"cell-{n}", "source": EAT} for n in range(1990)]
    path = place / "02_queries_keys_values.ipynb"
    path.write_text(json.dumps(notebook))
    return path
