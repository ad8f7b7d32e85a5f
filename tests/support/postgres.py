"""A PostgreSQL server of the tests' own: in a temporary folder, on a UNIX socket, gone when they end."""

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
PATIENCE = 600.0  # seconds for what takes a few, on a machine that has much else to do


@contextlib.contextmanager
def server():
    """A Server at work; skips where there is no PostgreSQL, or no user to run it as."""
    programs = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda p: float(p.parent.parent.name))
    found = str(programs[-1]) if programs else shutil.which("postgres")
    if found is None:
        pytest.skip("PostgreSQL is not installed (apt-get install postgresql)")
    folder = Path(tempfile.mkdtemp(prefix="pg-"))  # a short path: that of a socket has 107 bytes at the most
    started = Server(Path(found).parent, folder)
    try:
        started.initialise()
        started.start()
        yield started
    finally:
        started.stop()
        shutil.rmtree(folder)


class Server:
    """A server that can be stopped and started again. It keeps what it was told, as any database does."""

    def __init__(self, programs, folder):
        self.programs = programs
        self.folder = folder
        self.process = None

    def initialise(self):
        """Make the server's files. It runs as an ordinary user, since it refuses root."""
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
        """Stop it; whoever is connected loses the connection."""
        if self.process is not None:
            self.process.send_signal(signal.SIGINT)
            self.process.wait(PATIENCE)
            self.process = None

    @contextlib.contextmanager
    def stopped(self):
        """Stopped meanwhile."""
        self.stop()
        try:
            yield
        finally:
            self.start()

    def create(self, database, template="template1"):
        """Make a database, empty or as another one is; returns its URL for `c.CourseDirectory.db_url`."""
        self.ask("postgres", f'CREATE DATABASE "{database}" TEMPLATE "{template}"')
        return f"postgresql+psycopg://{ROLE}@/{database}?host={self.folder}"

    def connect(self, database):
        """A connection, to be used in a `with` statement: without a transaction until one is opened."""
        return psycopg.connect(host=str(self.folder), dbname=database, user=ROLE, autocommit=True)

    def ask(self, database, statement):
        """The rows of a statement's answer, if it has one."""
        with self.connect(database) as connection:
            answer = connection.execute(statement)
            return answer.fetchall() if answer.description else None

    @contextlib.contextmanager
    def held(self, database, table, waiting=1):
        """Nobody can write to a table meanwhile; the body gets a function that waits until `waiting` others want to."""

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
