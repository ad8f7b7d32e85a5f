"""What a file is by its content: taken where it holds a notebook, and else one sentence that says what it is."""

import base64
import contextlib
import json
import tracemalloc

import pytest
from conftest import ASSIGNMENT, ROOT

from autograder import course
from autograder.errors import Unreadable
from autograder.submission import kinds, read, scripts
from autograder.submission.assignments import assignment_of, is_of_another

LESSON = "01_self_attention"
RELEASED = (ROOT / "release" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb").read_bytes()
PARSED = json.loads(RELEASED)
ZIP = b"PK\x03\x04" + b"\0" * 26

NOTEBOOKS = {
    "as it is": RELEASED,
    "with a mark before it": b"\xef\xbb\xbf" + RELEASED,
    "in UTF-16, as a redirection in PowerShell makes it": RELEASED.decode().encode("utf-16"),
    "in UTF-16, the other way round": b"\xfe\xff" + RELEASED.decode().encode("utf-16-be"),
    "in UTF-32": RELEASED.decode().encode("utf-32"),
    "with NULs behind it, where a sync broke off": RELEASED + b"\0" * 5000,
    "with Ctrl-Z and blanks behind it": RELEASED + b"\x1a\r\n \r\n",
    "as Jupyter's contents API answers": json.dumps({"type": "notebook", "content": PARSED}).encode(),
    "as text in such an answer": json.dumps({"type": "file", "content": RELEASED.decode()}).encode(),
    "as GitHub's API answers": json.dumps(
        {"name": "x", "encoding": "base64", "content": base64.encodebytes(RELEASED).decode()}
    ).encode(),
    "under another key": json.dumps({"ipynb": PARSED, "version": 3}).encode(),
}

OTHERS = {
    "nothing": (b"", "The file is empty: save the notebook"),
    "NULs alone": (b"\0" * 4096, "The file is empty"),
    "a web page": (
        b"<!DOCTYPE html>\n<html><head><title>x.ipynb at main</title>",
        "It is a web page, not the notebook",
    ),
    "a web page with a comment before": (b"<!-- saved from url -->\n<html>", "It is a web page"),
    "a sign-in page": (b"<html><head><title>Sign in to the Hub</title></head>", "It is a sign-in page"),
    "a form with a password": (b'\n<!doctype html><form><input name="p" type="password">', "It is a sign-in page"),
    "an archived page": (b"From: <Saved by Blink>\r\nSnapshot-Content-Location: x", "It is a web page"),
    "a link to Colab": (b"https://colab.research.google.com/drive/1A?usp=sharing\n", "It is a link to Colab"),
    "a link to Colab in a sentence": (b"here: https://colab.research.google.com/drive/1A", "It is a link to Colab"),
    "another link": (b"  https://drive.google.com/file/d/1/view\r\n", "It is a link, not the notebook"),
    "a shortcut of Windows": (b"[InternetShortcut]\r\nURL=https://x.org/\r\n", "It is a link"),
    "a shortcut of Drive": (b'{"url": "https://drive.google.com/open?id=1", "doc_id": "1"}', "It is a link to Google"),
    "a PDF": (b"%PDF-1.7\n%\xe2\xe3", "It is a PDF, not the notebook"),
    "a zip": (ZIP + b"01.ipynb", "It is a zip archive, not the notebook: unpack it"),
    "a workbook": (ZIP + b"[Content_Types].xml" + ZIP + b"xl/workbook.xml", "It is an Excel file"),
    "a document": (ZIP + b"[Content_Types].xml" + ZIP + b"word/document.xml", "It is a Word file"),
    "a document of LibreOffice": (
        ZIP + b"mimetypeapplication/vnd.oasis.opendocument.text",
        "It is an OpenDocument file",
    ),
    "an old document": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 99, "It is an old Word or Excel file"),
    "a tar": (b"01.ipynb" + b"\0" * 249 + b"ustar\0", "It is an archive"),
    "a 7z": (b"7z\xbc\xaf\x27\x1c\0\4", "It is an archive"),
    "a screenshot": (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "It is a picture"),
    "a photo": (b"\xff\xd8\xff\xe0\0\x10JFIF", "It is a picture"),
    "a photo of a phone": (b"\0\0\0\x18ftypheic\0\0", "It is a picture"),
    "rich text": (b"{\\rtf1\\ansi\\deff0", "It is a text document (RTF)"),
    "LaTeX": (b"% mine\n\\documentclass{article}", "It is a LaTeX document"),
    "Markdown": (b"# My answers\n\nThe scale", "It is a Markdown document"),
    "a program": (b"import torch\n\ndef softmax(x):\n    return x\n", "It is a program in Python without cells"),
    "a pointer": (b"version https://git-lfs.github.com/spec/v1\noid", "It is what Git LFS leaves in its place"),
    "other text": (b"I could not open it", "It is not a notebook, but other text"),
    "other bytes": (b"\x01\x02\0\x03" * 9, "It is not a notebook, and no text at all"),
    "other JSON": (b'{"a": 1}', "it has no list of cells"),
    "a notebook that was cut off": (RELEASED[:5000], "its text is not JSON, line"),
    "a notebook that is not in UTF-8": (RELEASED[:-1] + b"\xe4}", "save it in UTF-8"),
}


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_is_read_however_it_is_wrapped(name):
    cells = read.read_notebook(NOTEBOOKS[name])
    assert [cell.source for cell in cells] == ["".join(cell["source"]) for cell in PARSED["cells"]]
    assert assignment_of(cells).name == ASSIGNMENT
    assert kinds.may_be_one(NOTEBOOKS[name][: kinds.LOOK])


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_no_notebook_is_named_and_what_to_do_is_said(name):
    data, says = OTHERS[name]
    with pytest.raises(Unreadable) as problem:
        read.read_notebook(data)
    said = str(problem.value)
    assert says in said and "\n" not in said and said.endswith(".")
    assert "Download it again" not in said or data.startswith(b"{")


@pytest.mark.parametrize("name", [name for name in OTHERS if "notebook" not in name])
def test_what_is_no_notebook_is_told_by_its_beginning(name):
    assert not kinds.may_be_one(OTHERS[name][0][: kinds.LOOK])


# --- scripts --------------------------------------------------------------------------------------

TITLE, TEXT, FIRST, SECOND = "# 01 Title", "Some text?", "import torch\nx = 1", "def double(n):\n    return n + n"
COLAB = f'''# -*- coding: utf-8 -*-
"""01_title.ipynb

Automatically generated by Colab.

Original file is located at
    https://colab.research.google.com/drive/1AbC
"""

!pip install -q einops

"""{TITLE}

{TEXT}
"""

{FIRST}

"""More."""

# Commented out IPython magic to ensure Python compatibility.
# %%time
# a = \"\"\"
# not text
# \"\"\"

"""End"""

{SECOND}
'''
DATABRICKS = f"""# Databricks notebook source
# MAGIC %md
# MAGIC {TITLE}
# MAGIC {TEXT}

# COMMAND ----------

{FIRST}

# COMMAND ----------

# MAGIC %pip install einops

# COMMAND ----------

{SECOND}
"""
NBCONVERT = f"""#!/usr/bin/env python
# coding: utf-8

# {TITLE}
#
# {TEXT}

# In[1]:


{FIRST}


# More.

# In[ ]:


{SECOND}

"""
PERCENT = f"""# ---
# jupyter: python3
# ---

# %% [markdown]
# {TITLE}
#
# {TEXT}

# %% [code] {{"trusted": true}}
{FIRST}

# %% [markdown]
\"\"\"
More.
\"\"\"

#%%
{SECOND}
"""
MARIMO = f"""import marimo

__generated_with = "0.18.0"
app = marimo.App(width="medium")


@app.cell
def _(torch, x):
    def double(n):
        if n is None:
            return (torch, x)
        return n + n
    return (double,)


@app.cell(hide_code=True)
def _(mo):
    mo.md(r\"\"\"
    {TITLE}

    {TEXT}
    \"\"\")
    return


@app.cell
async def _():
    import torch
    x = 1
    return (
        torch,
        x,
    )


@app.function
def twice(n):
    return 2 * n


if __name__ == "__main__":
    app.run()
"""
FORMS = {"Colab": COLAB, "Databricks": DATABRICKS, "nbconvert": NBCONVERT, "percent": PERCENT}


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_script_is_read_as_the_cells_that_it_was(name, end):
    cells = scripts.cells_of(FORMS[name].replace("\n", end))
    code = [source for kind, source in cells if kind == "code"]
    said = [source for kind, source in cells if kind == "markdown"]
    assert FIRST in code and SECOND in code and code.index(FIRST) < code.index(SECOND)
    assert any(source.startswith(TITLE) and source.endswith(TEXT) for source in said)
    assert kinds.may_be_one(FORMS[name].encode())
    assert not any("%%time" in source for source in said) and not any("%md" in source for source in code)


def test_what_colab_commented_out_is_code_again():
    assert ("code", '%%time\na = """\nnot text\n"""') in scripts.cells_of(COLAB)


def test_cells_of_marimo_come_in_the_order_in_which_they_run():
    cells = scripts.cells_of(MARIMO)
    code = [source for kind, source in cells if kind == "code"]
    assert ("markdown", f"{TITLE}\n\n{TEXT}") in cells
    assert code.index("import torch\nx = 1") < next(i for i, c in enumerate(code) if c.startswith("def double"))
    exec("\n".join(source for source in code if "torch" not in source), space := {})
    assert space["twice"](2) == 4 and not any("app.run" in source or "@app" in source for source in code)
    double = next(source for source in code if source.startswith("def double"))
    assert double.endswith("return n + n") and "return (torch, x)" in double


@pytest.mark.parametrize("text", ["import torch\nx = 1\n", "# 50%% of it\nx = 1", "print('# In[3]:')", ""])
def test_a_program_without_cells_is_none(text):
    assert scripts.cells_of(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "# %%\n" * 150_000,
        "app = marimo.App(\n" + "@app.cell\ndef _(a):\n    return (a,)\n" * 20_000,
        "app = marimo.App(\n@app.cell\ndef _(a):\n    return" + "\n          " * 60_000 + "\nx",
        "Automatically generated by Colab\n" + '"""\n' * 150_000,
        "# In[1]:\n" + "#\n" * 300_000,
        "app = marimo.App(\n@app.cell\ndef _(a):\n    mo.md(" + ('"' + " " * 500) * 1500,
    ],
)
def test_a_hostile_script_costs_little(text):
    with contextlib.suppress(Unreadable):
        read.read_notebook(text.encode())  # where it took the square of its length, this would not end


# --- what nobody reads ----------------------------------------------------------------------------


def notebook_with(**more):
    code = {"cell_type": "code", "metadata": {}, "source": 'x = {"outputs": [1]}', "outputs": []}
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [code], **more}


def large(kind):
    many = 26 * 2**20
    if kind == "widgets":
        return notebook_with(metadata={"widgets": {"state": {"a": {"b": ['\\"]}' * 5, "x" * many]}}}})
    if kind == "many widgets":
        state = {
            f"{n}": {"model_name": "FloatProgressModel", "state": {"_dom": [], "t": "x" * 200}} for n in range(100_000)
        }
        return notebook_with(metadata={"widgets": {"application/vnd.jupyter.widget-state+json": {"state": state}}})
    made = notebook_with()
    made["cells"][0]["outputs"] = [{"output_type": "stream", "name": "stdout", "text": ['a ["\n'] * (many // 8)}]
    return made


@pytest.mark.parametrize("kind", ["widgets", "many widgets", "outputs"])
def test_what_nobody_reads_is_read_past(kind, tmp_path):
    (path := tmp_path / "large.ipynb").write_text(json.dumps(large(kind)))
    data = read.read_handed_in(path)
    assert path.stat().st_size > read.MAX_FILE > 10_000 > len(data)
    assert [cell.source for cell in read.read_notebook(data)] == ['x = {"outputs": [1]}']
    assert read.read_notebook(path.read_bytes()) == read.read_notebook(data)


@pytest.mark.slow("it reads past 26 MB of widgets")
def test_a_large_notebook_takes_no_memory_for_what_is_left_out():
    data = json.dumps(large("many widgets")).encode()
    tracemalloc.start()
    try:
        read.read_notebook(data)
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()


def test_what_is_large_without_its_outputs_is_refused_with_a_remedy_that_helps():
    made = notebook_with()
    made["cells"].append({"cell_type": "markdown", "metadata": {}, "source": "x", "attachments": {"a": "x" * 2**25}})
    with pytest.raises(Unreadable, match=r"32 MB without its outputs.*take large pictures and data out of its cells"):
        read.read_notebook(json.dumps(made).encode())


HOSTILE = (b"[" * 2**25, b'{"outputs":[' * 2**21, b'"' + b"x" * 2**25, b'{"outputs":["' + b"\\" * 2**25)


@pytest.mark.parametrize("number", range(len(HOSTILE)))
def test_hostile_json_of_that_size_is_refused(number):
    with pytest.raises(Unreadable):
        read.read_notebook(HOSTILE[number])


# --- whose it is ----------------------------------------------------------------------------------


def unmarked(name=ASSIGNMENT):
    cells = json.loads((ROOT / "release" / name / f"{name}.ipynb").read_bytes())["cells"]
    return [read.SubmittedCell(cell["cell_type"], "".join(cell["source"]), "") for cell in cells]


def without_titles(cells):
    return [cell for cell in cells if not cell.source.lstrip().startswith("# ") or cell.cell_type != "markdown"]


def test_a_copy_without_marks_is_known_by_its_title_its_texts_or_its_name():
    cells = unmarked()
    assert assignment_of(cells, "notebook.ipynb").name == ASSIGNMENT
    own = [read.SubmittedCell("markdown", "# Jane Doe\n\nhomework", ""), *cells]
    assert assignment_of(own).name == ASSIGNMENT, "a heading of one's own above the title"
    assert assignment_of(without_titles(cells), "notebook.ipynb").name == ASSIGNMENT
    assert assignment_of([], f"/a/Copy of {ASSIGNMENT} (1).ipynb").name == ASSIGNMENT
    assert assignment_of([], "notebook.ipynb") is None
    assert assignment_of([], f"{ASSIGNMENT} and {LESSON}.ipynb") is None, "it may be either"


def test_cells_decide_and_not_the_name():
    assert assignment_of(unmarked(LESSON), f"{ASSIGNMENT}.ipynb").name == LESSON
    shared = [read.SubmittedCell("code", "import torch", "setup", "setup")]
    assert assignment_of(shared, "x.ipynb") is None, "every assignment has a cell of that name"


def test_the_desk_tells_another_assignments_copy_too():
    here = course.assignments()[ASSIGNMENT]
    assert is_of_another(here, unmarked(LESSON)) == LESSON
    assert is_of_another(here, unmarked()) == "" and is_of_another(here, []) == ""
    theirs = (ROOT / "release" / LESSON / f"{LESSON}.ipynb").read_bytes()
    both = [*read.read_notebook(theirs), *read.read_notebook(RELEASED)[:40]]
    assert is_of_another(here, both) == "", "it has cells of this one, too"
