"""What a command costs, processes that have ended included, and tables that say on which machine that was."""

import argparse
import contextlib
import datetime
import importlib.metadata
import os
import platform
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
TICK = os.sysconf("SC_CLK_TCK")
EVERY = 0.1  # seconds between two looks at the processes of a command


@dataclass
class Cost:
    """What a command cost: wall and CPU seconds of all its processes, and the most memory of its first one, in MB."""

    wall: float
    cpu: float
    memory: float
    code: int
    output: str


def run(command, folder=None, environment=None):
    """Run a command to its end, with stdout and stderr kept: its Cost.

    The kernel adds up the CPU of all processes that somebody waited for. Those of a sandbox are missing there, since
    it is killed at its end with all that is in it: their sum is looked up while they live.
    """
    with tempfile.TemporaryFile() as output:
        started = time.perf_counter()
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=output, stderr=subprocess.STDOUT)
        watch = _Watch(process.pid)
        try:
            _, status, usage = os.wait4(process.pid, 0)
        except BaseException:
            process.terminate()
            raise
        finally:
            watch.stop()
        wall = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read().decode(errors="replace")
    cpu = usage.ru_utime + usage.ru_stime + sum(watch.sandboxes.values())
    return Cost(wall, cpu, watch.memory, process.returncode, text)


def total(costs):
    """The Cost of commands that ran one after another; `memory` is that of the largest."""
    return Cost(
        wall=sum(c.wall for c in costs),
        cpu=sum(c.cpu for c in costs),
        memory=max(c.memory for c in costs),
        code=max(c.code for c in costs),
        output="".join(c.output for c in costs),
    )


class _Watch:
    """Looks at the processes of a command while it runs: `memory` of the first, CPU of every sandbox by process id."""

    def __init__(self, pid):
        self.pid = pid
        self.memory = 0.0
        self.sandboxes = {}
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self._look, daemon=True)
        self.thread.start()

    def stop(self):
        self.ended.set()
        self.thread.join()

    def _look(self):
        while not self.ended.wait(EVERY):
            peak = re.search(r"VmHWM:\s+(\d+) kB", _text(f"/proc/{self.pid}/status"))
            self.memory = max(self.memory, int(peak[1]) / 1024 if peak else 0.0)
            for pid in sandboxes_below(self.pid):
                self.sandboxes[pid] = max(self.sandboxes.get(pid, 0.0), cpu_of_tree(pid))


def sandboxes_below(pid):
    """The first processes of all process namespaces below a process."""
    found = []
    for child in _children(pid):
        names = re.search(r"NSpid:(.*)", _text(f"/proc/{child}/status"))
        found += [child] if names and len(names[1].split()) > 1 else sandboxes_below(child)
    return found


def cpu_of(pid: int) -> float:
    """CPU seconds of a process alone, by its own clock, which is finer than /proc; 0 if it is gone."""
    try:
        return time.clock_gettime(~pid << 3 | 2)  # as clock_getcpuclockid has it
    except OSError:
        return 0.0


def cpu_of_tree(pid):
    """CPU seconds of a process and of all below it, those included that were waited for."""
    fields = _text(f"/proc/{pid}/stat").rpartition(")")[2].split()
    own = sum(int(field) for field in fields[11:15]) / TICK if fields else 0.0
    return own + sum(cpu_of_tree(child) for child in _children(pid))


def _children(pid):
    return [int(child) for task in _tasks(pid) for child in _text(f"/proc/{pid}/task/{task}/children").split()]


def _tasks(pid):
    try:
        return os.listdir(f"/proc/{pid}/task")
    except OSError:
        return []


def _text(path):
    try:
        return Path(path).read_text()
    except OSError:  # it has ended
        return ""


# --- forms of a benchmark ---------------------------------------------------------------------------


def options(parser: argparse.ArgumentParser, **smallest: Any) -> argparse.Namespace:
    """The options of a benchmark; `smallest` are those of its smallest form, which takes seconds."""
    parser.add_argument("--smallest", action="store_true", help="the smallest form, only to see that it runs")
    found = parser.parse_args()
    if found.smallest:
        vars(found).update(smallest)
    return found


@contextlib.contextmanager
def worktree(revision: str) -> Iterator[Path]:
    """The whole tree of another commit, in a folder of its own, which goes in the end, also by SIGTERM."""
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    with tempfile.TemporaryDirectory(prefix="benchmark-") as folder:
        place = Path(folder) / "tree"
        git = ["git", "-C", str(ROOT)]
        made = subprocess.run([*git, "worktree", "add", "--detach", place, revision], capture_output=True, text=True)
        if made.returncode:
            raise SystemExit(f"--against {revision}: {made.stderr.strip().splitlines()[-1]}")
        try:
            yield place
        finally:
            subprocess.run([*git, "worktree", "remove", "--force", place], capture_output=True, check=False)


def of_import_torch(times: int = 3) -> float:
    """CPU seconds that `import torch` takes, the least of some: a measure of the machine."""
    return min(run([sys.executable, "-c", "import torch"]).cpu for _ in range(times))


@dataclass(frozen=True)
class Summary:
    """What a number of measured values say."""

    mean: float
    within: float  # the mean of all that could have been drawn is within this of it, with 95%
    median: float
    high: float  # 95% are not above it
    most: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Summary":
        """That of at least one value; of one alone nothing is known about others."""
        in_order = sorted(values)
        error = statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else float("inf")
        at = -(-95 * len(values) // 100) - 1
        within = _of_student(max(1, len(values) - 1)) * error
        return cls(statistics.mean(values), within, statistics.median(values), in_order[at], in_order[-1])

    def cells(self) -> list[str]:
        """As cells of a table: the mean with its interval, the median, and what 95% do not exceed."""
        return [f"{self.mean:.3f} ± {self.within:.3f}", f"{self.median:.3f}", f"{self.high:.3f}"]


def _of_student(freedom: int) -> float:
    """The factor of Student's distribution for 95%, by its expansion: 2% too small at four degrees of freedom."""
    z = 1.95996
    return z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)


# --- tables -----------------------------------------------------------------------------------------


def say(text):
    """Tell whoever waits how far it is."""
    print(text, file=sys.stderr, flush=True)


def report(title, header, rows, *notes):
    """Print a Markdown table with its title, the machine and the date, and notes below it."""
    print(f"\n**{title}** ({machine()})\n")
    print(f"| {' | '.join(header)} |")
    print("|" + "---|" * len(header))
    for row in rows:
        print(f"| {' | '.join(row)} |")
    for note in notes:
        print(f"\n{note}")


def machine():
    """Today, the commit and this machine: `2026-01-31, 3f0c2a1b, 2 cores, 24 GB, Xeon, Linux 6.1, …, torch 2.13.0`."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    model = re.search(r"model name\s*:\s*(.*)", _text("/proc/cpuinfo"))
    parts = [
        datetime.date.today().isoformat(),
        commit(),
        f"{len(os.sched_getaffinity(0))} cores",
        f"{memory:.0f} GB",
        model[1] if model else platform.machine(),
        f"Linux {'.'.join(platform.release().split('.')[:2])}",
        f"Python {platform.python_version()}",
        f"torch {importlib.metadata.version('torch')}",
    ]
    return ", ".join(parts)


def commit():
    """The commit that is measured, in eight digits; "no commit" outside of a repository."""
    command = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--exclude=*", "--abbrev=8", "--dirty"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "no commit"
