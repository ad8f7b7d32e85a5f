"""What right exercises keep beside wrong ones: `python benchmarks/beside.py [NN ...] [--number N] [--seed N]`.

In each notebook two or three exercises have one mistake of their banks each; all others are right. Prints, for each
assignment, how many right ones fail checks by what they stand on, how many of these keep all points by prices, and
what was named falsely: a mistake of its own in a right one, or another one in a wrong one. Each of these, and each that
loses points, is a line before the table.
"""

import argparse
import random
from collections import Counter
from dataclasses import replace

from autograder import course
from autograder.grading.grader import Grader, read_cells
from autograder.mistakes.bank import Bank, bank
from autograder.verdict import PRICES, STANDS_ON, Verdict

COLUMNS = ("assignment", "wrong", "named", "falsely named", "right, but shaken", "keep all points", "named wrong")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("assignments", nargs="*", metavar="NN", help="default: all with more than one exercise")
    parser.add_argument("--number", type=int, default=20, metavar="N", help="notebooks of each (default: 20)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of mistakes and inputs (default: 1)")
    given = parser.parse_args()
    every = [a for a in course.assignments().values() if len(a.exercises) > 1]
    wanted = [course.find_assignment(name) for name in given.assignments] or every
    rows = []
    with Grader() as grader:
        for assignment in wanted:
            found = Counter()
            for wrong in drawn(assignment, given.number, given.seed):
                verdict = grader.grade_cells(
                    cells_with(assignment, wrong), assignment.exercises, given.seed, "", assignment.name
                ).verdict
                found.update(counted(verdict, wrong))
            rows.append([assignment.name[:2], *(found[column] for column in COLUMNS[1:])])
    for row in [COLUMNS, ["---", *["---:"] * (len(COLUMNS) - 1)], *rows]:
        print(f"| {' | '.join(map(str, row))} |")


def drawn(assignment, number, seed):
    """The wrong exercises of each notebook: a dict from their names to mistakes."""
    chance = random.Random(f"{assignment.name}/{seed}")
    banks = {e.name: bank(e.name) for e in assignment.exercises}
    names = [name for name, of in banks.items() if isinstance(of, Bank)]
    for _ in range(number):
        chosen = chance.sample(names, min(len(names), chance.choice((2, 2, 3))))
        yield {name: chance.choice(list(banks[name].values())) for name in chosen}


def cells_with(assignment, wrong):
    """The cells of the solution, with wrong answers in the places of some."""
    cells = read_cells(assignment.path)
    for name, mistake in wrong.items():
        place = next(i for i, cell in enumerate(cells) if cell.runs and name in course.defined_in(cell.source))
        cells[place] = replace(cells[place], source=mistake.source)
    return cells


def counted(verdict: Verdict, wrong):
    """What the verdict on a notebook adds to each column."""
    said = {name: mistake.id for name, mistake in wrong.items()}
    for outcome in verdict.exercises:
        own = [one.id for one in outcome.diagnosis if not one.id.startswith(STANDS_ON)]
        expected, score = said.get(outcome.exercise), outcome.credited(PRICES).score
        if expected is not None:
            yield "wrong"
            if expected in own:
                yield "named"
            if set(own) - {expected}:
                yield "falsely named"
                print(said, outcome.exercise, own)
        elif outcome.by_checks < outcome.max_score:
            yield "right, but shaken"
            if score == outcome.max_score:
                yield "keep all points"
            if own:
                yield "named wrong"
            if own or score < outcome.max_score:
                print(said, outcome.exercise, f"{score:g} of {outcome.max_score:g}", own)


if __name__ == "__main__":
    main()
