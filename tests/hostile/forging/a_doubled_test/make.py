"""A notebook in which another cell bears the test's name."""

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
    own = json.loads(json.dumps(test))
    own["id"], own["source"] = "own", "10.0"
    notebook["cells"].insert(notebook["cells"].index(test), own)
    path = place / "02_queries_keys_values.ipynb"
    path.write_text(json.dumps(notebook), encoding="utf-8")
    return path
