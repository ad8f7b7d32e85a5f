"""The largest process of grading: `python benchmarks/largest.py [EXERCISE ...] [--pairs] [--sample N]`.

Grades, as `autograder check` does, the course's answer, the answers in other styles, every mistake of the bank and the
wrong answers of tests/strangers, and with `--pairs` runs all pairs of mistakes (`doctor --pairs`). Meanwhile the
processes are looked at. Prints, for each exercise, the most memory that any process of each kind had: the one that
asks, the one that grades and diagnoses, and those of the sandbox, with the answer at which that was; then the largest
of all. `--sample` takes so many answers of each exercise, drawn by chance.
"""

import argparse
import contextlib
import os
import random
import sys
import threading
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch, as `autograder` itself does

sys.path.append(str(Path(__file__).resolve().parent.parent / "tests" / "support"))

import measuring
import psutil
import strangers

from autograder import course
from autograder.doctor import pairs
from autograder.grading import start
from autograder.mistakes.bank import Bank, answer_path, bank, styles_of
from autograder.mistakes.name_check import cells_for

SEED = 1
EVERY = 0.05  # seconds between two looks at processes; the kernel keeps the most memory that each one had
KINDS = ("asks", "grades", "sandbox")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("exercises", nargs="*", metavar="EXERCISE", help="default: all")
    parser.add_argument("--pairs", action="store_true", help="run all pairs of mistakes as well (hours)")
    parser.add_argument("--sample", type=int, metavar="N", help="answers of each exercise (default: all)")
    options = measuring.options(parser, exercises=["softmax"], sample=1)
    chosen = [course.find_exercise(name) for name in options.exercises] or list(course.exercises().values())
    rows = []
    for exercise in chosen:
        answers = list(answers_to(exercise.name))
        if options.sample and options.sample < len(answers):
            answers = random.Random(exercise.name).sample(answers, options.sample)
        with Watch() as watch:
            grade(exercise, answers, watch)
            if options.pairs and isinstance(bank(exercise.name), Bank):
                watch.at = "pairs"
                measuring.say(str(pairs.of_exercise(exercise.name)))
        rows.append([exercise.name, str(len(answers)), *("{} ({})".format(*watch.most[kind]) for kind in KINDS)])
        measuring.say("  " + " | ".join(rows[-1]))
    largest = max(int(cell.split()[0]) for row in rows for cell in row[2:])
    measuring.report(
        "The most memory of a process, in MB, and the answer at which it had that",
        ["exercise", "answers", "asks", "grades and diagnoses", "sandbox"],
        rows,
        f"The largest had {largest} MB.",
    )


def answers_to(exercise):
    """(name, text) of all answers that there are."""
    for style in styles_of(exercise):
        yield f"right: {style}", answer_path(exercise, style).read_text(encoding="utf-8")
    for mistake in bank(exercise).values():
        yield mistake.id, "\n\n\n".join(filter(None, (mistake.beside, mistake.source)))
    for name, text in strangers.answers(exercise).wrong.items():
        yield f"stranger: {name}", text


def grade(exercise, answers, watch):
    """Grade answers, one after another, as `check` does."""
    with start.started_grader() as grader:
        for name, text in answers:
            watch.at = name
            grader.grade_cells(cells_for(exercise.name, text), [exercise], SEED, name)
            watch.look()


class Watch:
    """Looks at this process and all below it, in a thread of its own: the `most` memory of each kind, and when."""

    def __init__(self):
        self.most = dict.fromkeys(KINDS, (0, ""))
        self.at = ""
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *exc):
        self.over.set()
        self.thread.join()

    def run(self):
        while not self.over.wait(EVERY):
            self.look()

    def look(self):
        """Note the most memory of all processes that are there. Those that grade are forks of this one, by name."""
        ours = psutil.Process()
        self.note("asks", ours.pid)
        with contextlib.suppress(psutil.Error):
            command = ours.cmdline()
            for child in ours.children(recursive=True):
                with contextlib.suppress(psutil.Error):
                    self.note("grades" if child.cmdline() == command else "sandbox", child.pid)

    def note(self, kind, pid):
        with contextlib.suppress(OSError, ValueError, IndexError):
            text = Path(f"/proc/{pid}/status").read_text()
            megabytes = int(text.split("VmHWM:")[1].split()[0]) // 1024
            self.most[kind] = max(self.most[kind], (megabytes, self.at), key=lambda one: one[0])


if __name__ == "__main__":
    main()
