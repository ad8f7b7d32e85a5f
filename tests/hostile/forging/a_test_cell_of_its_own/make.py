"""A notebook whose test cell is not the one that was released."""

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
    test["source"] = "1000.0"
    test["metadata"]["nbgrader"].update(points=1000, locked=False, checksum="0" * 32)
    path = place / "02_queries_keys_values.ipynb"
    path.write_text(json.dumps(notebook), encoding="utf-8")
    return path
