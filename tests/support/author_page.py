"""docs/checks.md, made of the docstrings of what authors of exercises import: `python tests/support/author_page.py`.

The docstrings hold an example each, as `>>>` lines; tests/checks/test_api.py runs them.
"""

import doctest
import inspect
import re
import textwrap

import numpy as np
import torch
from conftest import ROOT
from pretended_gpu import PretendedGpu

from autograder import checks, mistakes

PAGE = ROOT / "docs" / "checks.md"
START, END = "<!-- names: made by `make author-page` -->", "<!-- end of names -->"
WRITTEN = re.compile(r"^```python the student's code\n(.*?)^```$", re.MULTILINE | re.DOTALL)

# what only the examples use that the page does not show, after the student's code there
MORE = """

def sums_to_one(candidate):
    assert torch.allclose(candidate(torch.zeros(2, 3)).sum(-1), torch.ones(2))


def past(n):
    return torch.ones(n, n).tril()


def toss(n, generator=None):
    return torch.randint(2, (n,), generator=generator)


def size(module):
    return sum(p.numel() for p in module.parameters())


def freeze(module):
    module.requires_grad_(False)


def next_token(model, tokens):
    logits, _ = model(tokens)
    return logits[:, -1].argmax(-1)


class Table(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.rows = nn.Embedding(size, size)

    def forward(self, idx):
        return self.rows(idx)

    def step(self, token, state=None):
        return self.rows(token), [token]
"""

# The names by what an author wants to do; a name with a dot is a method.
GROUPS = {
    "Mark a check": "check CheckFailed",
    "Draw inputs": "Draw Draw.normal Draw.array Draw.mask Draw.integer Draw.state Generator",
    "Reach what the student wrote": "Submission Submission.function Submission.build Proxy",
    "Reach its parts, its text, its errors": """Proxy.method Proxy.quiet Proxy.attribute Submission.source
        Submission.settle""",
    "Pass modules to it": "Submission.torch_module Submission.stub Proxy.do Proxy.seen Proxy.held",
    "Compare values": "tensor array pair shape close",
    "Compare plain numbers, and what changes": "numbers reacts kind_of",
    "Compare masks": "pattern boolean",
    "Compare gradients": "gradient Proxy.gradients",
    "Set and compare parameters": """parameters Proxy.parameters Proxy.load Proxy.update Proxy.freeze Proxy.frozen
        Proxy.train Proxy.eval Proxy.training""",
    "Compare what is random": "frequencies Counts Proxy.seeded Proxy.sample Submission.note",
    "Try dtypes and extreme numbers": "name_of HUGE HUGE_TOLERANCE",
    "Try devices": "on_cuda",
    "Try them without a GPU": "on_meta stayed_on_cuda Submission.devices Proxy.on Proxy.to",
    "Compare errors": "refuses Proxy.error",
    "Look at an error": "StudentError StudentError.sentence Proxy.refused",
    "Ask how it was done": "unchanged does_without Proxy.counted Proxy.work Proxy.watched Proxy.launch Proxy.compile",
    "Ask an easy case first": "gate easy_case",
    "Say which step of attention is wrong": "steps.Case steps.first_wrong steps.first_wrong_of_layers",
    "Let a student's test judge an answer": "Submission.examine",
    "Train a model, and let it read": """Proxy.learn Proxy.weights Proxy.read Proxy.memory Proxy.resume
        Submission.afresh Submission.seconds_left Submission.build_seeded Submission.measure""",
    "Write mistakes": "Bank Bank.mistake",
    "Write more of them": "Bank.variant Bank.rewritten Bank.released Bank.share shared ALL BankError",
}
NAMES = [name for names in GROUPS.values() for name in names.split()]
# groups that the page lists: of these names, it has the first paragraph of the docstring
LISTED = (
    "Draw inputs",
    "Reach its parts, its text, its errors",
    "Pass modules to it",
    "Compare plain numbers, and what changes",
    "Compare masks",
    "Set and compare parameters",
    "Compare what is random",
    "Try dtypes and extreme numbers",
    "Try them without a GPU",
    "Look at an error",
    "Ask how it was done",
    "Say which step of attention is wrong",
    "Let a student's test judge an answer",
    "Train a model, and let it read",
    "Write more of them",
)


def found(name):
    """What a name of the page stands for."""
    first, _, rest = name.partition(".")
    thing = getattr(checks if hasattr(checks, first) else mistakes, first)
    return getattr(thing, rest) if rest else thing


def entry(name):
    """A heading with the signature, what its docstring says, and its example, of errors only the last line."""
    thing = found(name)
    text = textwrap.dedent(inspect.getdoc(thing))
    says, _, example = text.replace("'''", '"""').partition(">>>")
    heading = called(name, thing)
    ticks = "``" if "`" in heading else "`"
    example = example.replace("Traceback (most recent call last):\n", "").rstrip()
    return f"### {ticks}{heading}{ticks}\n\n{says.strip()}\n\n```pycon\n>>>{example}\n```"


def line(name):
    """An entry of a list: the signature and the first paragraph of its docstring, or a constant with its comment."""
    thing = found(name)
    heading = called(name, thing) if callable(thing) else f"{name} = {thing:g}"
    text = inspect.getdoc(thing).partition("\n\n")[0] if callable(thing) else comment(name)
    return textwrap.fill(f"- `{heading}`: {text}", 120, subsequent_indent="  ", break_on_hyphens=False)


def comment(name):
    """What the line that defines a constant says of it."""
    for module in (inspect.getmodule(checks.check), inspect.getmodule(mistakes.Bank.mistake), mistakes.prices):
        if line := re.search(rf"^{name}\b.*? = [^#]*# (.+)$", inspect.getsource(module), re.MULTILINE):
            return f"{line[1][0].upper()}{line[1][1:]}."
    raise ValueError(f"the line that defines {name} has no comment")


def called(name, thing):
    """The name with its parameters, without types; a class that checks never make, such as a Proxy, has none."""
    if name in ("Submission", "Proxy", "StudentError", "CheckFailed", "BankError"):
        return name
    signature = inspect.signature(thing)
    bare = [p.replace(annotation=p.empty) for p in signature.parameters.values() if p.name != "self"]
    text = str(signature.replace(parameters=bare, return_annotation=signature.empty)).replace("'", '"')
    return f"{name}{re.sub(r'<factory>', '{}', text)}"


def names_page():
    """The part of the page between the markers: each name in its group."""
    return "\n\n".join(f"## {group}\n\n{entries(group, names.split())}" for group, names in GROUPS.items())


def entries(group, names):
    """What the page says of the names in a group."""
    return "\n".join(map(line, names)) if group in LISTED else "\n\n".join(map(entry, names))


def up_to_date(page):
    """The text of docs/checks.md with the names as they are now. Raises ValueError without one pair of markers."""
    if page.count(START) != 1 or page.count(END) != 1:
        raise ValueError("docs/checks.md has no one place for the names")
    return re.sub(
        f"{re.escape(START)}.*{re.escape(END)}", lambda _: f"{START}\n\n{names_page()}\n\n{END}", page, flags=re.DOTALL
    )


class WithoutModules(doctest.OutputChecker):
    """Takes an exception by its own name, as the page shows it."""

    def check_output(self, want, got, optionflags):
        return super().check_output(want, re.sub(r"^autograder[\w.]*\.(\w+)", r"\1", got), optionflags)


def failures(name):
    """How the example of a name fails, as text; "" if it does not. Raises ValueError if there is none.

    It runs with what the page says, and MORE: all names are imported, and `submission` and `draw` are those of a check.
    """
    text = WRITTEN.search(PAGE.read_text(encoding="utf-8"))[1] + MORE
    student = {"__name__": "student"}
    exec(compile(text, "<the answer>", "exec"), student)
    given = {one: getattr(checks, one) for one in checks.__all__} | {
        one: getattr(mistakes, one) for one in mistakes.__all__
    }
    given |= {
        "torch": torch,
        "np": np,
        "submission": checks.Submission(PretendedGpu(student, text)),
        "draw": checks.Draw(1, "softmax/test_sum"),
    }
    example = doctest.DocTestParser().get_doctest(inspect.getdoc(found(name)), given, name, None, None)
    if not example.examples:
        raise ValueError(f"{name} has no example")
    said = []
    doctest.DocTestRunner(WithoutModules(), verbose=False, optionflags=doctest.ELLIPSIS).run(example, out=said.append)
    return "".join(said)


if __name__ == "__main__":
    PAGE.write_text(up_to_date(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
