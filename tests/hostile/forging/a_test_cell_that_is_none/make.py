"""A notebook whose test cell claims to be a written answer."""

WRONG = """
def attention(query, key, value, mask=None):
    return value.new_zeros(*query.shape[:-1], value.shape[-1]), query.new_zeros(*query.shape[:-1], key.shape[-2])

print("defined")
"""


def make(place, notebook):
    import json

    cells = {c["metadata"].get("nbgrader", {}).get("grade_id"): c for c in notebook["cells"]}
    cells["attention-solution"]["source"] = WRONG
    test = cells["attention"]
    test["cell_type"] = "markdown"
    test["metadata"]["nbgrader"].update(solution=True, cell_type="markdown")
    test.pop("outputs", None)
    test.pop("execution_count", None)
    path = place / "02_queries_keys_values.ipynb"
    path.write_text(json.dumps(notebook), encoding="utf-8")
    return path
