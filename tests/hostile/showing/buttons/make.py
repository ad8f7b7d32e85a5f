from conftest import cell_of
from mangling import running, write

CLASSES = "full-credit no-credit mark-graded score extra-credit comment tabbable save-icon nbgrader_cell help modal".split()
COVER = "position:fixed;top:0;left:0;width:100%;height:100%;z-index:9999"
TEXTS = [
    *(f"<div class='{name}' id=attention style='{COVER}' data-toggle=dropdown>x</div>" for name in CLASSES),
    *(f"<{tag} class=full-credit name=attention>x</{tag}>" for tag in "span a p b h1 td code details summary li".split()),
    "```full-credit\nx\n```\n~~~ {.full-credit}\nx\n~~~\n```mermaid\nx\n```\n# a {.full-credit #attention}",
    "[a](/formgrader) [b](?index=1) [c](#attention) <a href=../next>d</a> <input class=score><textarea class=comment>",
    "</div></div></div></div></div><div class=full-credit>out of its place</div><!-- <div class=full-credit> -->",
]


def make(place, notebook):
    cell_of(notebook, "question-three-matrices")["source"] = "\n\n".join(TEXTS)
    for number, text in enumerate(TEXTS):
        cell = {"metadata": {"raw_mimetype": "text/html", "tags": ["full-credit"], "collapsed": True}, "source": text}
        notebook["cells"].append({**cell, "cell_type": "markdown", "id": f"text-{number}"})
        notebook["cells"].append({**cell, "cell_type": "raw", "id": f"raw-{number}"})
    return write(place, running(notebook))
