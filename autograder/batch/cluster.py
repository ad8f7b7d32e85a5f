"""Grades tasks on a Dask cluster: each worker keeps a warm sandbox and is given one submission after another.

The head itself decides which worker gets which task. So it knows which task a worker may have died of, and a worker
that joins gets no task until its version has been checked. Dask tracks the workers and carries tasks and answers.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import logging
import os
import platform
import queue
import time
import warnings
from collections import Counter, deque
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import distributed
from distributed.client import ClosedClientError
from distributed.comm.core import connect
from distributed.scheduler import KilledWorker
from distributed.versions import VersionMismatchWarning

from ..errors import CourseError, SandboxError, UsageError, UserError
from ..verdict import FULL, Graded, Outcome, Verdict
from . import tasks
from .tasks import Task

if TYPE_CHECKING:  # it imports torch
    from ..grading.grader import Grader

CONNECT = 10.0  # seconds for the scheduler to answer
PATIENCE = 60.0  # seconds without a worker before a run ends
LOOK = 1.0  # seconds between two looks at which workers are there
OTHERS = 3  # how many times longer to wait for a submission, since a worker may have tasks of other heads as well
FETCH = 10.0  # seconds for an answer to arrive from its worker
AHEAD = 2  # tasks per worker: the current one and the next, so that the worker need not wait for the head
EARLY = "early outcome"  # in what a worker says while it grades: [the task's key, a verdict as JSON]
NAMED = ("torch", "Python", "Dask")  # versions that people can read; the others are hashes

log = logging.getLogger(__name__)


class Cluster:
    """The Engine of a Dask cluster with its scheduler at `address`. A worker gets up to `ahead` tasks at a time.

    `tell` is called, in a thread of its own, with the outcomes of exercises of a task that `tells`, while the rest of
    it is still being graded.
    """

    def __init__(
        self,
        address: str,
        device: str = "cpu",
        sandbox: str = FULL,
        tell: Callable[[Task, Outcome], None] = lambda task, outcome: None,
        ahead: int | None = None,
    ) -> None:
        self.address = address
        self.tell = tell
        self.ahead = AHEAD if ahead is None else ahead
        self.settings = device, sandbox

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *exc: object) -> None:
        pass

    def warm(self, total: int) -> None:
        """Do nothing: the workers are already running."""

    def graded(self, coming: Iterator[Task], total: int, alone: bool = False) -> Iterator[tuple[Task, Graded]]:
        """Yield (task, Graded) as tasks finish; every task comes out, whatever happens to the workers.

        The iterator `coming` is asked for a task when a worker has room for it; with `alone`, only when all workers
        are idle. Workers may join and leave: the tasks of a lost worker are given to others. A task that ATTEMPTS
        workers died of gets 0, and so does a task that a worker never finished.
        Raises UsageError if no worker can grade, and SandboxError if a worker's sandbox fails.
        """

        again = deque(task for task in [next(coming, None)] if task)
        deaths: Counter[str] = Counter()
        if not again:
            return  # no cluster is needed
        with _connected(self.address) as client:
            crew = _Crew(client, self.address, *self.settings, self.tell, self.ahead)
            while True:
                for task, culprit in crew.look():
                    deaths[task.key] += culprit
                    if deaths[task.key] >= tasks.ATTEMPTS:
                        yield task, tasks.killed(task)
                    else:
                        again.append(task)
                while (worker := crew.free(alone)) and (task := again.popleft() if again else next(coming, None)):
                    crew.give(worker, task)
                if worker and not crew.flight:
                    return
                if (done := crew.take()) is not None:
                    task, answer = done
                    if isinstance(answer, SandboxError):
                        raise answer
                    yield task, answer


# --- the head -------------------------------------------------------------------------------------


@contextlib.contextmanager
def _connected(address: str) -> Iterator[distributed.Client]:
    """A client of the scheduler at `address`. However it ends, none of its tasks is left there. Raises UsageError."""
    if not os.environ.get("AUTOGRADER_DEBUG"):  # Dask's messages on lost connections only help those who know Dask
        for name in ("distributed", "distributed.client", "distributed.gc", "tornado", "asyncio"):
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    warnings.filterwarnings("ignore", category=VersionMismatchWarning)  # we refuse the mismatches that matter
    warnings.filterwarnings("ignore", message="Sending large graph")
    try:
        asyncio.run(_reach(address))
        client = distributed.Client(address, timeout=CONNECT, set_as_default=False)
    except (OSError, ValueError, TypeError, RuntimeError, distributed.TimeoutError) as error:
        raise UsageError(f"No Dask scheduler answers at {address!r} ({_first_line(error)}).") from None
    try:
        yield client
    finally:
        client.close(timeout=CONNECT)


async def _reach(address: str) -> None:
    """Connect to a scheduler once, so that any problem shows here: a Client that fails to start never returns."""
    settings = distributed.Security().get_connection_args("client")
    connection = await asyncio.wait_for(connect(address, timeout=CONNECT, **settings), CONNECT + 1.0)
    await connection.close()


class _NotYet(Exception):
    """An answer has not arrived: the connection is slow, or its worker is lost, which `look` will notice."""


class _Crew:
    """The workers that can grade, as the head sees them, and the tasks of each."""

    def __init__(
        self,
        client: distributed.Client,
        address: str,
        device: str,
        sandbox: str,
        tell: Callable[[Task, Outcome], None],
        ahead: int,
    ) -> None:
        self.client = client
        self.tell = tell
        self.ahead = ahead
        self.address = address
        self.plugin = WarmGrader(fingerprint(), device, sandbox)
        self.workers: set[str] = set()  # those that can grade
        self.others: set[str] = set()  # those that cannot
        # the tasks given out, by the future's key, in order: (worker, future, task)
        self.flight: dict[Hashable, tuple[str, distributed.Future, Task]] = {}
        self.began: dict[str, float] = {}  # when a worker began its current task
        self.finished: queue.SimpleQueue[distributed.Future] = queue.SimpleQueue()
        self.done: set[Hashable] = set()  # the keys of futures that are or were in `finished`
        self.lost: list[tuple[Task, int]] = []  # tasks taken back, and how many deaths to count against each
        self.hears = False  # whether it has asked for early outcomes
        self.looked = 0.0
        self.met = time.monotonic()  # when there was last a worker

    def look(self) -> list[tuple[Task, int]]:
        """See, every LOOK seconds, which workers have come and gone; returns the `lost` tasks, to be given to others.

        Raises UsageError if there is no worker for too long, or if the only workers there cannot grade.
        """
        if time.monotonic() > self.looked + LOOK:
            with self._scheduler():
                there = self.client.scheduler_info(n_workers=-1)["workers"]
                running = {worker for worker, about in there.items() if about["status"] == "running"}
                self._dismiss(self.workers - running, there)
                self._give_up(self._silent(), there)
                self.others &= there.keys()
                self._greet(running - self.workers - self.others)
            self.looked = time.monotonic()
            if self.workers:
                self.met = self.looked
            elif self.looked > self.met + PATIENCE:
                raise UsageError(f"The scheduler {self.address} has had no worker for {PATIENCE:g} s.")
        lost, self.lost = self.lost, []
        return lost

    def _dismiss(self, workers: set[str], there: Collection[str], deaths: int = 1) -> None:
        """Take back the tasks of these workers; one that is no longer `there` may have died of its current task.

        That task is then charged with `deaths` deaths.
        """
        for worker in workers:
            theirs = [key for key, (at, _, _) in self.flight.items() if at == worker]
            was_at = next((key for key in theirs if key not in self.done), None)
            for key in theirs:
                _, future, task = self.flight.pop(key)
                future.cancel()
                self.lost.append((task, deaths * (key == was_at and worker not in there)))
        self.workers -= workers

    def _silent(self) -> set[str]:
        """The workers that have been at a task for longer than any task can take."""
        patience = time.monotonic() - OTHERS * tasks.PATIENCE
        at_work = {worker for worker, _, _ in self.flight.values()}
        return {worker for worker in at_work if self.began[worker] < patience}

    def _give_up(self, workers: set[str], there: Collection[str]) -> None:
        """Take back the tasks of silent workers, for others; their current tasks would only take as long again."""
        for worker in workers:
            log.warning("autograder: The worker %s does not finish its tasks: restart it.", worker)
        self._dismiss(workers, set(there) - workers, tasks.ATTEMPTS)
        self.others |= workers

    def _greet(self, new: set[str]) -> None:
        """Have new workers get ready. One that cannot ends the run if there are no others, else it is only reported."""
        if not new:
            return
        answers: Any = self.client.run(make_ready, self.plugin, workers=list(new), on_error="return")
        ready, refused = set(), []
        for worker, problem in answers.items():
            if isinstance(problem, OSError):
                continue  # the worker is gone, or will be asked again
            if isinstance(problem, Exception):
                problem = f"has no working kit: {_first_line(problem)}."
            if problem:
                refused.append(f"The worker {worker} {problem}")
                self.others.add(worker)
            else:
                ready.add(worker)
        if refused and not self.workers:
            raise UsageError(refused[0])
        for sentence in refused:
            log.warning("autograder: %s", sentence)
        self.workers |= ready

    def free(self, alone: bool) -> str | None:
        """The worker with the fewest tasks, if it has room for another; with `alone`, only if all are idle; or None."""
        if alone and self.flight:
            return None
        load = Counter(worker for worker, _, _ in self.flight.values())
        worker = min(self.workers, key=lambda w: load[w], default=None)
        return worker if worker is not None and load[worker] < self.ahead else None

    def give(self, worker: str, task: Task) -> None:
        """Give a task to a worker."""
        fields = tuple(vars(task).values())
        with self._scheduler():
            if task.tells and not self.hears:
                self.client.subscribe_topic(self.client.id, self._hear)
                self.hears = True
            future = self.client.submit(
                grade,
                self.plugin.name,
                fields,
                self.client.id,
                workers=[worker],
                allow_other_workers=False,
                pure=False,
            )
        if worker not in (busy for busy, _, _ in self.flight.values()):
            self.began[worker] = time.monotonic()
        self.flight[future.key] = worker, future, task
        future.add_done_callback(self._is_done)

    def _hear(self, event: tuple[float, Any]) -> None:
        """Take an early outcome, in the client's thread. The scheduler also says there what the client itself does."""
        said = event[1]
        if isinstance(said, dict) and EARLY in said:
            key, verdict = said[EARLY]
            task = next((task for _, _, task in list(self.flight.values()) if task.key == key), None)
            for outcome in Verdict.from_dict(json.loads(verdict)).exercises:
                if task is not None:  # else it is done already
                    self.tell(task, outcome)

    def _is_done(self, future: distributed.Future) -> None:
        self.done.add(future.key)
        self.finished.put(future)

    def take(self) -> tuple[Task, Graded | SandboxError] | None:
        """A task that is done and its result, or None if there is none yet."""
        try:
            future = self.finished.get(timeout=LOOK)
        except queue.Empty:
            return None
        if future.key not in self.flight:  # it was taken back
            self.done.discard(future.key)
            return None
        worker, _, task = self.flight[future.key]
        try:
            answer = self._fetched(future, worker)
        except _NotYet:
            self.finished.put(future)
            return None
        del self.flight[future.key]
        self.began[worker] = time.monotonic()
        self.done.discard(future.key)
        if answer is None:
            self.workers.discard(worker)
            self.lost.append((task, 1))
            return None
        return task, answer

    def _fetched(self, future: distributed.Future, worker: str) -> Graded | SandboxError | None:
        """What `grade` returned, or None if its worker has died of it.

        Raises _NotYet if the answer has not arrived, and UsageError if grading could not even begin.
        """
        with self._scheduler():
            if future.status != "error":
                try:
                    return future.result(timeout=FETCH)
                except distributed.TimeoutError:
                    raise _NotYet from None
            problem: Any = future.exception(timeout=FETCH)
        if isinstance(problem, KilledWorker):
            return None
        raise UsageError(f"The worker {worker} cannot grade: {_first_line(problem)}.")

    @contextlib.contextmanager
    def _scheduler(self) -> Iterator[None]:
        """Raises UsageError if the scheduler no longer answers."""
        try:
            yield
        except (OSError, RuntimeError, distributed.TimeoutError, distributed.CancelledError, ClosedClientError):
            raise UsageError(
                f"The scheduler {self.address} is gone: start it, and run the same command again to continue."
            ) from None


def _first_line(error: BaseException | None) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")


# --- a worker -------------------------------------------------------------------------------------


def fingerprint() -> dict[str, str]:
    """All that must be equal on the head and on a worker, by name: what scores and their transport depend on."""
    from ..grading.store import content_hash, course_parts

    here = Path(__file__).parent
    python = ".".join(platform.python_version_tuple()[:2])
    carriers = content_hash(here, here.glob("*.py"))
    return {**course_parts(), "tasks": carriers, "Python": python, "Dask": version("distributed")}


def difference(wanted: Mapping[str, str], sandbox: str) -> str | None:
    """Why this machine cannot grade for a head with the `fingerprint` `wanted`: the end of a sentence, or None."""
    from ..sandbox import jail

    try:
        here = fingerprint()
    except (CourseError, ImportError, OSError) as problem:
        return f"cannot grade: {_first_line(problem)}."
    differing = [
        f"{what} {here.get(what)}, not {wanted[what]}" if what in NAMED else what
        for what in wanted
        if here.get(what) != wanted[what]
    ]
    if differing:
        return f"has other versions than the head ({'; '.join(differing)}): make them equal and restart it."
    problem = jail.refusal(sandbox)
    return problem and f"has no sandbox. {problem}"


async def make_ready(plugin: WarmGrader, dask_worker: distributed.Worker) -> str | None:
    """Get a worker ready for a head, which sends its plug-in. Returns None, or why it cannot grade (`difference`)."""
    problem = await asyncio.to_thread(difference, plugin.wanted, plugin.sandbox)
    if problem is None and plugin.name not in dask_worker.plugins:
        await dask_worker.plugin_add(plugin, name=plugin.name)
    return problem


def grade(name: str, fields: tuple[Any, ...], topic: str) -> Graded | SandboxError | None:
    """The Graded of a task, or the SandboxError, from the plug-in `name` of the worker that this runs on.

    Early outcomes go to the `topic`, to which the head listens. None if the worker has no such plug-in: it is about to
    end, or is a new process with the address of a dead one.
    """
    worker, task = distributed.get_worker(), Task(*fields)
    plugin = worker.plugins.get(name)

    def tell(outcome: Outcome) -> None:
        verdict = Verdict("", [outcome], task.seed, task.assignment)
        worker.log_event(topic, {EARLY: [task.key, verdict.to_json()]})

    return plugin.grade(task, tell) if isinstance(plugin, WarmGrader) else None


class WarmGrader(distributed.WorkerPlugin):
    """Keeps one Grader on a worker, which starts when it is first needed and stays warm for all runs of that version.

    The Grader lives in a thread of its own: it takes one task at a time, however many threads the worker has, and a
    sandbox ends with the thread that started it.
    """

    def __init__(self, wanted: Mapping[str, str], device: str, sandbox: str) -> None:
        self.wanted = wanted
        self.device = device
        self.sandbox = sandbox
        digest = hashlib.sha256(json.dumps([wanted, device, sandbox], sort_keys=True).encode())
        self.name = f"autograder-{digest.hexdigest()}"

    def setup(self, worker: distributed.Worker) -> None:
        self.address = worker.address
        self.grader: Grader | None = None
        self.thread = ThreadPoolExecutor(1, "grader")

    async def teardown(self, worker: distributed.Worker) -> None:
        self.thread.submit(self._close)
        await asyncio.to_thread(self.thread.shutdown)

    def grade(self, task: Task, tell: Callable[[Outcome], None]) -> Graded | SandboxError | None:
        """The Graded of a task, or the SandboxError; None if the worker is shutting down. `tell` takes early ones."""
        try:
            answer = self.thread.submit(self._grade, task, tell)
        except RuntimeError:  # after `teardown`
            return None
        return answer.result()

    def _grade(self, task: Task, tell: Callable[[Outcome], None]) -> Graded | SandboxError:
        from ..grading import start

        os.environ.setdefault("OMP_NUM_THREADS", "1")
        try:
            self.grader = self.grader or start.started_grader(self.device, self.sandbox)
        except UserError as error:  # the checks cannot be used
            return SandboxError(f"On the worker {self.address}: {error}")
        answer = tasks.grade(self.grader, task, tell)
        return SandboxError(f"On the worker {self.address}: {answer}") if isinstance(answer, SandboxError) else answer

    def _close(self) -> None:
        if self.grader is not None:
            self.grader.close()
