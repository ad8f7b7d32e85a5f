"""Puts the storyteller into the notebooks that run it: its words and weights, and what right parts answer.

python -m storyteller.cells          # after training; then: autograder build
"""

import json
import textwrap

import torch

from . import measure, tales, weights
from .model import ROOT, SHAPE, Storyteller

LESSONS = {  # are its pairs halves there?
    "04_multi_head_attention": False,
    "07_language_model": False,
    "08_modern_block": False,
    "09_long_texts": True,
}

LOADER = '''
# The storyteller: {words} words and {size:,} weights, trained for this course on tales made by rules. CC0 1.0:
# dedicated to the public domain, free for any use. Folded away: it is one long text.
import base64
import hashlib
import math
import zlib

WORDS = """
{listed}
""".split()
PACKED = """
{packed}
"""


def unpacked():
    """The weights by their names, in float32. They are stored as float16: all high bytes, then all low ones."""
    raw = zlib.decompress(base64.b85decode("".join(PACKED.split())))
    assert hashlib.sha256(raw).hexdigest() == "{sha256}", "this cell has changed: copy it from the released notebook"
    high, low = torch.frombuffer(bytearray(raw), dtype=torch.uint8).view(2, -1)
    numbers = torch.stack([low, high], dim=1).view(torch.float16).flatten().float()
    block = {{
{block}
    }}
    shapes = {{"table": ({words}, {d})}}
    for layer in range({layers}):
        shapes |= {{f"layers.{{layer}}.{{name}}.weight": shape for name, shape in block.items()}}
    shapes["norm.weight"] = ({d},)
    parts = numbers.split([math.prod(shape) for shape in shapes.values()])
    return {{name: part.view(shape) for (name, shape), part in zip(shapes.items(), parts)}}


def as_text(words):
    """Words as people write them: capitals, and no blank before a full stop."""
    text, begins, before = "", True, ""
    for word in words:
        if word not in ("<s>", "</s>"):
            shown = word[0].upper() + word[1:] if begins else word
            text += shown if not text or text[-1] == "“" or word in ".,?”" else " " + shown
            begins, before = word in ".?“" or word == "”" and before == ".", word
    return text


stored = unpacked()
'''

PROMPTS = (
    "<s> the animal didn't cross the street because it was too tired . the",
    "<s> the animal didn't cross the street because it was too wide . the",
    "<s> in June a fox called Juniper came to the lighthouse . a heron called Pim was already there . it was a",
)
BEGINS, SEED, MOST = "<s> a fox called Juniper lived by the sea with a heron called Pim .", 39, 60
CLOSE = 1e-3  # no draw of the tale may come closer to another word, so that rounding changes none

GOLDEN = '''
# What right parts answer, computed in float64: five logits after each of three beginnings, and a tale.
GOLDEN = {{
{logits}
}}
BEGINS, SEED = "{begins}", {seed}
TALE = """
{tale}
""".split()
'''


def loader(model: Storyteller, halves: bool) -> str:
    """The cell `storyteller`."""
    packed = weights.pack(model, halves)
    block = {
        name.removeprefix("layers.0.").removesuffix(".weight"): shape
        for name, shape in weights.shapes(len(measure.VOCABULARY)).items()
        if name.startswith("layers.0.")
    }
    return LOADER.format(
        words=len(measure.VOCABULARY),
        size=sum(parameter.numel() for parameter in model.parameters()),
        listed=textwrap.fill(" ".join(measure.VOCABULARY), 118, break_on_hyphens=False, break_long_words=False),
        packed=packed,
        sha256=weights.unpack(packed, len(measure.VOCABULARY))[1],
        block="\n".join(f'        "{name}": {shape},' for name, shape in block.items()),
        **SHAPE,
    ).strip()


@torch.no_grad()
def golden(model: Storyteller) -> str:
    """The cell `golden`: what the stored weights answer in float64."""
    precise = Storyteller(len(measure.VOCABULARY), **SHAPE).double()
    precise.load_state_dict(model.state_dict())
    lines = []
    for prompt in PROMPTS:
        best = precise(measure.numbered([prompt.split()]))[0, -1].topk(5)
        logits = zip(best.values.tolist(), best.indices.tolist(), strict=True)
        told = ", ".join(f'"{measure.VOCABULARY[i]}": {z:.5f}' for z, i in logits)
        lines.append(f'    "{prompt}":\n        {{{told}}},')
    tale, close = measure.write(precise, BEGINS, MOST, SEED)
    if close < CLOSE or tale[-1] != tales.END:
        raise ValueError(f"choose another SEED: a draw came as close as {close:.1e}, or the tale has no end")
    listed = textwrap.fill(" ".join(tale), 118, break_on_hyphens=False)
    return GOLDEN.format(logits="\n".join(lines), begins=BEGINS, seed=SEED, tale=listed).strip()


def main() -> None:
    torch.set_num_threads(1)
    model = weights.load(weights.FILE.read_text(), len(measure.VOCABULARY))
    for lesson, halves in LESSONS.items():
        path = ROOT / "source" / lesson / f"{lesson}.ipynb"
        notebook = json.loads(path.read_text(encoding="utf-8"))
        made = {"storyteller": loader(model, halves), "golden": golden(model)}
        for cell in notebook["cells"]:
            if cell["id"] in made:
                cell["source"] = made[cell["id"]].splitlines(keepends=True)
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
