from mangling import running, write

TEXTS = [
    "<script>alert(1)</script><img src=x onerror=alert(1)><svg onload=alert(1)></svg><iframe src=//e.example></iframe>",
    "[a](javascript:alert(1)) [b](JaVaScRiPt:alert(1)) [c](data:text/html,<script>alert(1)</script>) [d](vbscript:a)",
    "[e](&#106;avascript:alert(1)) <a href='jav\tascript:alert(1)'>f</a> <a href='//e.example' onclick=alert(1)>g</a>",
    "![h](javascript:alert(1)) ![i](https://e.example/count.png) ![j](attachment:a.svg) [k]: javascript:alert(1)",
    "<form action=//e.example><input name=a><button formaction=javascript:alert(1)>x</button></form><base href=//e.example>",
    "<style>body{display:none}</style><link rel=stylesheet href=//e.example><meta http-equiv=refresh content=0>",
    "$\\href{javascript:alert(1)}{x}$ $$\\require{html}\\style{display:block}{x}\\class{a}{x}\\cssId{b}{x}$$",
    "```html\n<script>alert(1)</script>\n```\n<details open ontoggle=alert(1)><math><mi//xlink:href='javascript:alert(1)'>",
    "<noscript><p title='</noscript><img src=x onerror=alert(1)>'></noscript><template><script>alert(1)</script></template>",
]


def make(place, notebook):
    for text in TEXTS:
        notebook["cells"].append({"cell_type": "markdown", "id": f"text-{len(notebook['cells'])}", "metadata": {}, "source": text})
    return write(place, running(notebook))
