"""A PostgreSQL server for the tests: in a temporary folder, on a UNIX socket, removed when they end."""

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import psycopg
import pytest

ROLE = "grader"
PATIENCE = 600.0  # seconds to wait for what takes a few, since the machine may be busy


@contextlib.contextmanager
def server():
    """A running Server; skips the test where PostgreSQL is not installed."""
    programs = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda p: float(p.parent.parent.name))
    found = str(programs[-1]) if programs else shutil.which("postgres")
    if found is None:
        pytest.skip("PostgreSQL is not installed (apt-get install postgresql)")
    folder = Path(tempfile.mkdtemp(prefix="pg-"))  # a short path, since that of a socket may have 107 bytes at most
    started = Server(Path(found).parent, folder)
    try:
        started.initialise()
        started.start()
        yield started
    finally:
        started.stop()
        shutil.rmtree(folder)


class Server:
    """A server that can be stopped and started again, and keeps its data in between."""

    def __init__(self, programs, folder):
        self.programs = programs
        self.folder = folder
        self.process = None

    def initialise(self):
        """Make the server's files. The server refuses to run as root, so it gets an ordinary user."""
        if os.geteuid() == 0:
            shutil.chown(self.folder, "nobody")
        data = ("-D", self.folder / "data")
        made = self._run("initdb", *data, "-U", ROLE, "-E", "UTF8", "--locale=C", "-A", "trust", "--no-sync")
        assert made.wait(PATIENCE) == 0, self._said()

    def start(self):
        """Start it and wait until it answers."""
        where = ("-D", self.folder / "data", "-k", self.folder, "-c", "listen_addresses=")
        self.process = self._run("postgres", *where, "-c", "fsync=off")
        until = time.monotonic() + PATIENCE
        while True:
            try:
                return self.ask("postgres", "SELECT 1")
            except psycopg.OperationalError:
                assert self.process.poll() is None and time.monotonic() < until, self._said()
                time.sleep(0.05)

    def stop(self):
        """Stop it; all open connections are lost."""
        if self.process is not None:
            self.process.send_signal(signal.SIGINT)
            self.process.wait(PATIENCE)
            self.process = None

    @contextlib.contextmanager
    def stopped(self):
        """Stop the server for the body of the `with` statement."""
        self.stop()
        try:
            yield
        finally:
            self.start()

    def create(self, database, template="template1"):
        """Make a database, empty or as a copy of another; returns its URL for `c.CourseDirectory.db_url`."""
        self.ask("postgres", f'CREATE DATABASE "{database}" TEMPLATE "{template}"')
        return f"postgresql+psycopg://{ROLE}@/{database}?host={self.folder}"

    def connect(self, database):
        """A connection for a `with` statement; it has no transaction until one is opened."""
        return psycopg.connect(host=str(self.folder), dbname=database, user=ROLE, autocommit=True)

    def ask(self, database, statement):
        """The rows that a statement returns; None if it returns none."""
        with self.connect(database) as connection:
            answer = connection.execute(statement)
            return answer.fetchall() if answer.description else None

    @contextlib.contextmanager
    def held(self, database, table, waiting=1):
        """Lock a table against writing; the body gets a function that waits until `waiting` others want to write."""

        def wait(runs):
            until = time.monotonic() + PATIENCE
            while self.ask(database, "SELECT count(*) FROM pg_locks WHERE NOT granted")[0][0] < waiting:
                for run in runs:
                    assert run.poll() is None, run.communicate()
                assert time.monotonic() < until, "nobody wanted to write"
                time.sleep(0.05)

        with contextlib.closing(self.connect(database)) as holder:
            holder.execute(f"BEGIN; LOCK TABLE {table} IN SHARE MODE")
            yield wait

    def _run(self, program, *arguments):
        """Start one of PostgreSQL's programs; it ends with the process that started it."""
        user = ["--reuid=nobody", "--regid=65534", "--clear-groups"] if os.geteuid() == 0 else []
        command = ["setpriv", *user, "--pdeathsig=INT", "--", self.programs / program, *arguments]
        with open(self.folder / "log", "a") as log:
            return subprocess.Popen(
                command, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
            )

    def _said(self):
        return (self.folder / "log").read_text()
