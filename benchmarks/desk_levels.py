"""How many answers a script needs that reads only what the desk tells: `python benchmarks/desk_levels.py`.

`attention` is written with six choices, each right or wrong: 64 answers, all graded once. Then a script starts at each
wrong one and changes a choice at a time. With points, or kinds of checks, it keeps what brings more points (or fewer
failing kinds) and takes back what does not; with names, it changes the choice that is named. Printed is how many
answers it read until it had full marks.

Then tables: all 64 answers in one, of which one edit would pick the right one. Printed are their points, and the lines
that feedback quotes.
"""

import argparse
import itertools
import random
import statistics
from collections.abc import Collection

import measuring

from autograder import course
from autograder.desk import disclosure
from autograder.grading.seeds import new_seed
from autograder.grading.start import started_grader
from autograder.mistakes.bank import right_answer
from autograder.submission.restore import RestoredCell

EXERCISE = "attention"
CHOICES = {  # what stands there, and what a wrong choice puts in its place
    "scale": (" / key.shape[-1] ** 0.5", ""),
    "mask": ("scores.masked_fill(~mask,", "scores.masked_fill(mask,"),
    "empty": ("scores = scores.masked_fill(~has_a_key, 0.0)", "pass"),
    "clear": ("weights.masked_fill(~has_a_key, 0.0)", "weights"),
    "softmax": ("F.softmax(scores, dim=-1)", "F.softmax(scores, dim=-2)"),
    "product": ("return weights @ value, weights", "return weights @ value, weights.transpose(-2, -1)"),
}
NAMED = {  # the choice that a mistake's name points at
    "no-scale": "scale",
    "place-scale": "scale",
    "mask-inverted": "mask",
    "place-mask": "mask",
    "softmax-over-queries": "softmax",
    "place-softmax": "softmax",
    "lowest-number-in-empty-rows": "clear",
    "nan-in-empty-rows": "clear",
}
# a line of each, with one combination; `different` makes it unlike others
TABLES = {
    "a line": "    if False: chosen = '{chosen}'",
    "a block": "    if False:\n        chosen = '{chosen}'",
    "lines that differ": "    if False: chosen = '{chosen}'{different}",
    "one of two values": "    chosen = '{chosen}'{different} if False else chosen",
    "and": "    chosen = (False and '{chosen}'{different}) or chosen",
    "a loop": "    for _ in range(0): chosen = '{chosen}'{different}",
    "lines that run": "    place += 0 * {number}",
    "a chain": "    0 > 1 < (chosen := '{chosen}'{different})",
    "an error": "    try: 1 / 1\n    except ZeroDivisionError: chosen = '{chosen}'{different}",
}
ROUNDS = 20  # orders in which a script tries, for each start


def answer(wrong):
    """The code with these choices wrong."""
    text = right_answer(EXERCISE)
    for name in wrong:
        right, other = CHOICES[name]
        assert text.count(right) == 1, name
        text = text.replace(right, other)
    return f"import torch\nimport torch.nn.functional as F\nfrom torch import nn\n\n{text}"


def table(form):
    """An answer that does as `chosen` says, the first combination, and has the others in lines without effect."""
    rows = []
    for number, wrong in enumerate(itertools.product("01", repeat=len(CHOICES))):
        different = " + ''" * (number % 9)
        rows.append(TABLES[form].format(chosen="".join(wrong), different=different, number=number))
    return f"""import math

import torch
import torch.nn.functional as F
from torch import nn

CHOICES = {[*CHOICES.values()]!r}
TEXT = {right_answer(EXERCISE)!r}


def made(chosen):
    text, names = TEXT, {{"torch": torch, "F": F, "nn": nn, "math": math}}
    for is_right, (right, other) in zip(chosen, CHOICES):
        text = (text.replace(right, other), text)[int(is_right)]
    exec(text, names)
    return names["{EXERCISE}"]


def {EXERCISE}(query, key, value, mask=None):
    chosen, place = "{"0" * len(CHOICES)}", 0
{chr(10).join(rows)}
    return made(f"{{place:0{len(CHOICES)}b}}" if place else chosen)(query, key, value, mask)
"""


def graded(choices: Collection[str] = CHOICES):
    """The outcome of each answer, by the choices that are wrong in it."""
    found, seed = {}, new_seed()
    with started_grader() as grader:
        for size in range(len(choices) + 1):
            for wrong in itertools.combinations(choices, size):
                cells = [RestoredCell("code", answer(wrong), "")]
                exercise = course.exercises()[EXERCISE]
                found[frozenset(wrong)] = grader.grade_cells(cells, [exercise], seed).verdict.exercises[0]
    return found


def climb(outcomes, start, worth, chance):
    """How many answers are read from `start` on until full marks, if what is worth more stays; None if stuck."""
    now, read, seen = start, 1, {start}
    while not outcomes[now].full:
        order = sorted(CHOICES, key=lambda name: chance.random())
        for name in order:
            other = now ^ {name}
            if other in seen or other not in outcomes:
                continue
            seen.add(other)
            read += 1
            if outcomes[other].full or worth(outcomes[other]) > worth(outcomes[now]):
                now = other
                break
        else:  # a plateau: go on from any that was not read yet
            left = [one for one in outcomes if one not in seen]
            if not left:
                return None
            now = chance.choice(left)
            seen.add(now)
            read += 1
    return read


def by_points(outcome):
    return disclosure.told(outcome, "points")["score"]


def by_place(outcome):
    told = disclosure.told(outcome, "place")
    return told["score"], -len((told["place"] or "").split())


def follow(outcomes, start, chance):
    """The same if the choice is changed that is named; where none is, by points."""
    now, read = start, 1
    while not outcomes[now].full:
        names = [name["id"] for name in disclosure.told(outcomes[now], "names")["names"]]
        known = [NAMED[name] for name in names if NAMED.get(name) in now]
        if not known:
            rest = climb(outcomes, now, by_points, chance)
            return None if rest is None else read + rest - 1
        now, read = now ^ {known[0]}, read + 1
    return read


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--choices", nargs="+", choices=CHOICES, default=[*CHOICES], help="default: all")
    parser.add_argument("--tables", nargs="*", choices=TABLES, default=[*TABLES], help="default: all")
    options = measuring.options(parser, choices=["scale"], tables=["a line"])
    outcomes = graded(options.choices)
    for wrong, outcome in outcomes.items():
        names = ", ".join(d.id for d in outcome.diagnosis)
        print(f"{outcome.score:5.2f}  {'+'.join(sorted(wrong)) or 'all right'}: {names}", flush=True)
    starts = [one for one in outcomes if not outcomes[one].full]
    ways = {
        "points": lambda start, chance: climb(outcomes, start, by_points, chance),
        "place": lambda start, chance: climb(outcomes, start, by_place, chance),
        "names": lambda start, chance: follow(outcomes, start, chance),
    }
    for level, way in ways.items():
        needed = [way(start, random.Random(number)) for start in starts for number in range(ROUNDS)]
        needed = [one for one in needed if one is not None]
        print(f"{level}: {statistics.mean(needed):.1f} answers on average, at most {max(needed)}, of {len(outcomes)}")
    with started_grader() as grader:
        for form in options.tables:
            cells = [RestoredCell("code", table(form), "")]
            (outcome,) = grader.grade_cells(cells, [course.exercises()[EXERCISE]], new_seed()).verdict.exercises
            lines = [one.line for one in outcome.diagnosis if one.line]
            points = max(outcome.by_checks, outcome.by_prices)
            print(f"a table ({form}): {points:.2f} points; {lines or 'no line is quoted'}", flush=True)


if __name__ == "__main__":
    main()
