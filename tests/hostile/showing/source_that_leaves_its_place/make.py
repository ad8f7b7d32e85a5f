from mangling import code, running, write


def make(place, notebook):
    for text in ("</pre></div></textarea></script><script>alert(1)</script>", "<!-- <script>", "]]>{{ 7 * 7 }}{% raw %}"):
        notebook["cells"].append(code("# " + text))
    return write(place, running(notebook))
