"""What is tried is bounded: what takes too much or never ends is one hypothesis, and the verdict comes all the same.

Nothing here hands the diagnostician an answer before it asks: what is tested is the way that a submission takes.
"""

import json
import os
import resource
import subprocess
import sys

from conftest import ROOT

from autograder.mistakes.bank import right_answer
from autograder.mistakes.name_check import cells_for

LIMIT = 8 * 2**30  # bytes of addresses of any process: a limit that fails takes this, and not the machine
MOST = 1536  # MB that any process of grading may take

INNER_CACHE = right_answer("KVCache")
for old, new in (
    ("        self.rope_base, self.qk_norm = rope_base, qk_norm\n", "{}        self.cache = KVCache()\n"),
    ("        b, t, _ = x.shape\n", "        cache = self.cache if cache is None else cache\n{}"),
):
    assert INNER_CACHE.count(old) == 1
    INNER_CACHE = INNER_CACHE.replace(old, new.format(old))


def limited():
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))


def checked(folder, exercise, *answers):
    """The outcomes of answers by `autograder check`, and the memory of its largest process, in MB."""
    paths = []
    for number, answer in enumerate(answers):
        paths.append(folder / f"answer_{number}.py")
        paths[-1].write_text("\n\n\n".join(cell.code for cell in cells_for(exercise, answer)), encoding="utf-8")
    command = [sys.executable, "-m", "autograder", "check", *paths, "--exercise", exercise, "--seed", "1"]
    with (folder / "said").open("w") as said:
        process = subprocess.Popen([*command, "--format", "json"], stdout=said, cwd=ROOT, preexec_fn=limited)
        _, status, usage = os.wait4(process.pid, 0)
    assert os.waitstatus_to_exitcode(status) == 1
    verdicts = [json.loads(line) for line in (folder / "said").read_text().splitlines()]
    return [verdict["exercises"][0] for verdict in verdicts], usage.ru_maxrss // 1024


def test_an_answer_for_which_a_pair_of_mistakes_doubles(tmp_path):
    """Its diagnosis combines a cache that is shared with one that keeps inputs, and each call doubles what is kept."""
    (outcome,), most = checked(tmp_path, "KVCache", INNER_CACHE)
    assert most < MOST
    assert (outcome["status"], outcome["score"]) == ("graded", 8.5)
    assert outcome["diagnosis"]
