"""How far right answers vary where `train` is judged by what is learnt: `python benchmarks/train_bands.py [--runs N]`.

Grades every right answer of autograder/exercises/train/answers N times, each time on another text and from other
weights. Prints how often it passes all checks, and between what its losses lie; then wrong answers, and the limits.
"""

import argparse
import os
import runpy
import time
from pathlib import Path

os.environ["TQDM_DISABLE"] = "1"

from autograder.checks.api import Draw  # noqa: E402
from autograder.checks.proxies import Local, Submission  # noqa: E402
from autograder.checks.runner import Graders  # noqa: E402
from autograder.exercises.reference import language  # noqa: E402
from autograder.exercises.train import checks as grader  # noqa: E402
from autograder.mistakes.bank import bank  # noqa: E402

STYLES = sorted(
    (Path(__file__).resolve().parent.parent / "autograder" / "exercises" / "train" / "answers").glob("*.py")
)
WRONG = ("targets-not-shifted", "shifted-twice", "targets-behind", "gradients-pile-up", "sgd", "no-step")


def losses(namespace, runs):
    """(of the last steps, on text not seen before), one pair of lists for all runs."""
    return zip(*(grader.learnt(Submission(Local(namespace)), Draw(seed, "bands")) for seed in range(runs)), strict=True)


def line(name, found, rest=""):
    print(f"{name:<20}" + "".join(f" {min(some):6.3f} to {max(some):6.3f} " for some in found) + rest, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--runs", type=int, default=50)
    runs = parser.parse_args().runs
    print(f"{'':<20} {'last steps':<17} text not seen before")
    graders = Graders()
    for path in STYLES:
        namespace, started = runpy.run_path(str(path)), time.process_time()
        passed = sum(not graders.run("train", Local(namespace), seed).failed() for seed in range(runs))
        seconds = (time.process_time() - started) / runs
        line(path.stem, losses(namespace, runs), f" {passed} of {runs} pass all checks, {seconds:.2f} s of CPU each")
    for id in WRONG:
        line(id, losses(bank("train")[id].namespace(), min(runs, 10)))
    tables = []
    for seed in range(runs):
        text = language.made_text(5000, **grader.RULE, draw=Draw(seed, "bands").generator)
        tables.append(language.bigram_loss(text, grader.RULE["vocab_size"]))
    line("a table of pairs", [tables])
    print(f"the limits           {grader.FLOOR - grader.BELOW:6.3f} to {grader.FLOOR + grader.ABOVE:6.3f}")
    print(f"who knows the rule   {grader.FLOOR:6.3f}")


if __name__ == "__main__":
    main()
