"""What it costs to start a sandbox, in the kit's own course and in the example of a NumPy course: CPU and memory."""

import argparse
import contextlib
import os
import statistics
from pathlib import Path

from autograder import course
from autograder.new import scratch
from autograder.sandbox.parent import WarmParent

ASKED = "import resource; print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)"
TICKS = os.sysconf("SC_CLK_TCK")


def measured() -> tuple[float, int]:
    """(CPU seconds until a sandbox is ready, MB of a submission that has not done anything) in the course here."""
    course.forget()
    with WarmParent() as parent:
        parent.start()
        cpu = sum(map(cpu_of, family(parent.process.pid)))
        child = parent.fork()
        reply, _ = child.request({"op": "cell", "source": ASKED, "name": "<asked>"})
        child.kill()
    return cpu, int(reply["outputs"][0]["text"])


def family(pid: int) -> list[int]:
    """A process and all that it has started."""
    children = [int(path.name) for path in Path("/proc").glob("[0-9]*") if stat_of(int(path.name))[1:2] == [str(pid)]]
    return [pid, *(one for child in children for one in family(child))]


def cpu_of(pid: int) -> float:
    return sum(map(int, stat_of(pid)[11:13])) / TICKS


def stat_of(pid: int) -> list[str]:
    """The fields of /proc/PID/stat that follow the name; none if the process has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=5, help="starts of each")
    parser.add_argument("--smallest", action="store_true", help="one start of each")
    options = parser.parse_args()
    root = course.kits_own()
    if root is None:
        parser.error("the kit's own course is needed")
    for place in (root, root / scratch.EXAMPLE):
        with contextlib.chdir(place):
            found = [measured() for _ in range(1 if options.smallest else options.times)]
        cpu, memory = (statistics.median(column) for column in zip(*found, strict=True))
        print(f"{place.name}: {cpu:.1f} s of CPU, {memory:.0f} MB")


if __name__ == "__main__":
    main()
