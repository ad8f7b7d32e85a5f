from mangling import write


def make(place, notebook):
    notebook["cells"][-1]["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "x" * 70 * 2**20}]
    return write(place, notebook)
