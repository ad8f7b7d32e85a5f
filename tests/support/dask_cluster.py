"""A Dask scheduler and workers of this machine, for tests."""

import contextlib
import json
import os
import subprocess
import sys
import time

import psutil
from conftest import ROOT


class Cluster:
    """A Dask scheduler and workers, each a process group of its own."""

    def __init__(self, folder, port=0):
        self.folder = folder
        self.started = []
        self.file = folder / "scheduler.json"
        self.start("scheduler", "--port", port, "--scheduler-file", self.file, course=folder)
        while not (self.file.exists() and self.file.read_text().endswith("}")):  # it is not written at once
            assert self.started[0].poll() is None, "the scheduler has ended"
            time.sleep(0.05)
        self.address = json.loads(self.file.read_text())["address"]

    def worker(self, course, *arguments, **environment):
        """Start a worker, or several, in the folder of a course."""
        settings = ["--scheduler-file", self.file, "--nthreads", 1, "--local-directory", self.folder]
        settings += ["--preload", ROOT / "tests" / "support" / "deadly.py", *arguments]
        return self.start("worker", *settings, course=course, **environment)

    def start(self, what, *arguments, course, **environment):
        command = [sys.executable, "-m", f"distributed.cli.dask_{what}", "--host", "127.0.0.1", "--no-dashboard"]
        with open(self.folder / "log", "a") as log:
            process = subprocess.Popen(
                [*command, *map(str, arguments)],
                cwd=course,
                env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.started.append(process)
        return process

    def end(self):
        for process in reversed(self.started):
            below = psutil.Process(process.pid).children(recursive=True) if process.poll() is None else []
            for each in (process, *below):
                with contextlib.suppress(psutil.NoSuchProcess, ProcessLookupError):
                    each.kill()
            process.wait()
