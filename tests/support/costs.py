"""What each test file costs in CPU time, its processes included: `make costs`, or `pytest -p costs` by hand.

It is no test: how long a test takes is measured by who wants to know it, and never asserted.
"""

import collections
import contextlib
import os
from pathlib import Path

import pytest

TICKS = os.sysconf("SC_CLK_TCK")
SHOWN = 40


def cpu(process="self"):
    """CPU seconds of a process and all that it has started, as far as they are still in its tree or were waited for."""
    total = 0.0
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it ends just now
        after_name = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        total += sum(map(int, after_name[11:15])) / TICKS  # utime, stime, and those of the children waited for
        for thread in Path(f"/proc/{process}/task").iterdir():
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                total += sum(map(cpu, (thread / "children").read_text().split()))
    return total


class Costs:
    """Each worker measures its own tests, and the reports take the numbers to who shows them."""

    def __init__(self):
        self.before = 0.0
        self.files, self.tests = collections.Counter(), collections.Counter()

    def pytest_collection_finish(self):
        self.before = cpu()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self):
        report = yield
        now = cpu()
        report.cpu = max(now - self.before, 0.0)  # less than before where a process ended that nobody waited for
        self.before = now
        return report

    def pytest_runtest_logreport(self, report):
        spent = getattr(report, "cpu", 0.0)  # a worker that died measured nothing
        self.files[report.nodeid.partition("::")[0]] += spent
        self.tests[report.nodeid] += spent

    def pytest_terminal_summary(self, terminalreporter):
        terminalreporter.section("CPU seconds")
        terminalreporter.write_line(f"{sum(self.files.values()):8.1f}  all")
        for counted in (self.files, self.tests):
            for name, seconds in counted.most_common(SHOWN):
                terminalreporter.write_line(f"{seconds:8.1f}  {name}")


def pytest_configure(config):
    config.pluginmanager.register(Costs())
