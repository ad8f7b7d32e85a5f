"""A notebook whose test cell shows outputs that no run made."""

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
    result = {"output_type": "execute_result", "execution_count": 1, "metadata": {}, "data": {"text/plain": "10.0"}}
    said = {"output_type": "stream", "name": "stdout", "text": "The visible check passes."}
    test["outputs"] = [said, result]
    path = place / "02_queries_keys_values.ipynb"
    path.write_text(json.dumps(notebook), encoding="utf-8")
    return path
