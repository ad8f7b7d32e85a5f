from mangling import running, write

TYPES = ["", "text/html", "TEXT/HTML", "text/markdown", "text/x-python", "text/latex", "application/javascript", None]
TEXT = "<div onclick=alert(1) style='display:none' class='x'>x</div></pre><script>alert(1)</script>$\\class{x}{y}$"


def make(place, notebook):
    for number, kind in enumerate(TYPES):
        metadata = {"raw_mimetype": kind, "format": kind} if kind is not None else {}
        notebook["cells"].append({"cell_type": "raw", "id": f"raw-{number}", "metadata": metadata, "source": TEXT})
    notebook["cells"].append({"cell_type": "heading", "id": "other", "metadata": {}, "source": TEXT, "level": 1})
    return write(place, running(notebook))
