"""What N hand-ins teach an attacker who reads inputs out and hands in a table: `python benchmarks/oracle.py [N]`.

`constant_vector_length` takes two numbers and gives one, so a table of values is a whole answer. Each hand-in of the
attacker raises the next call that is not in its table, as `KeyError(repr(args))`; the feedback shows it. What the right
value is, the attacker computes at home, as anybody with the formula can, or takes from a friend: the best case for a
table. That is played with the inputs of one seed for all hand-ins, as it was once, and with rounds as they are.
"""

import ast
import re
import sys
import tempfile

from autograder import course
from autograder.checks.proxies import Local
from autograder.checks.runner import Graders
from autograder.exercises.reference import plain
from autograder.grading.rounds import Rounds
from autograder.grading.store import Store

EXERCISE = "constant_vector_length"
CASE = re.compile(r"KeyError: '?\(([^)]*)\)")
TABLE = """
TABLE = {}

def constant_vector_length(c, k):
    if (c, k) not in TABLE:
        raise KeyError(repr((c, k)))
    return TABLE[c, k]
"""


def play(graders: Graders, number: int, seed_of) -> list[float]:
    """The points of each of `number` hand-ins; `seed_of(n)` is the seed of the n-th one's inputs."""
    table: dict[tuple[float, float], float] = {}
    points = []
    for n in range(number):
        text = TABLE.replace("{}", repr(table), 1)
        namespace: dict[str, object] = {}
        exec(text, namespace)
        run = graders.run(EXERCISE, Local(namespace, text), seed_of(n))
        points.append(sum(check.points for check in run.checks if check.passed))
        for check in run.failed():
            if found := CASE.search(check.reason):
                c, k = ast.literal_eval(found[1])
                table[c, k] = plain.constant_vector_length(c, k)
    return points


def main(number: int) -> None:
    graders = Graders()
    with tempfile.TemporaryDirectory() as place:
        for trial in range(3):
            rounds = Rounds(Store(f"{place}/{trial}"), course.exercises()[EXERCISE].assignment)
            seeds = [rounds.take({"mallory": f"file {n}"})["mallory"] for n in range(number)]
            for how, seed_of in (("one seed for all", lambda n, s=seeds: s[0]), ("rounds", lambda n, s=seeds: s[n])):
                points = play(graders, number, seed_of)
                first = next((n + 1 for n, p in enumerate(points) if p == 1), None)
                print(f"{how}: points by hand-in {points}; full marks first with hand-in {first}")
    checks = {e: len(graders.checks[e]) for e in course.exercises()}
    most = max(checks, key=lambda e: checks[e])
    least, largest = min(checks.values()), max(checks.values())
    print(f"checks: {least} to {largest} ({most}) an exercise, {sum(checks.values())} in all")
    for name, assignment in course.assignments().items():
        print(f"{name}: at most {sum(checks[e.name] for e in assignment.exercises)} bits by passed and failed checks")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 12)
