import json


def make(place, notebook):
    """Every cell of the student's own ends the process."""
    for number, cell in enumerate(notebook["cells"]):
        if cell["cell_type"] == "code" and not cell["metadata"].get("nbgrader", {}).get("grade"):
            cell["source"] = f"import os; os._exit({number})"
            cell["metadata"].pop("tags", None)
            cell["id"] = f"dies-{number}"
    path = place / "02_queries_keys_values.ipynb"
    path.write_text(json.dumps(notebook))
    return path
