from mangling import running, write

ACTS = [r"class{a}{x}", r"class1{x}", r"class_x", r"cssId{a}{x}", r"style{position:fixed}{x}", r"require{html}"]
ACTS += [r"href{javascript:alert(1)}{x}", r"unicode{65}", r"bbox[red]{x}", r"mathtip{a}{b}", r"toggle{a}{b}\endtoggle"]
ACTS += [r"def\a{\class}\a{x}{y}", r"let\a=\href \a{javascript:alert(1)}{x}", r"newcommand{\a}{\class}\a{x}{y}"]
WAYS = [r"$\%s$", r"$$\%s$$", r"\\(\%s\\)", r"\begin{align}\%s\end{align}", "$&#92;%s$", "$&bsol;%s$", r"$<b></b>\<!-- -->%s$"]


def make(place, notebook):
    texts = [way % act for act in ACTS for way in WAYS]
    cell = {"cell_type": "markdown", "id": "text", "metadata": {}, "source": "\n\n".join(texts)}
    notebook["cells"].append(cell)
    return write(place, running(notebook))
