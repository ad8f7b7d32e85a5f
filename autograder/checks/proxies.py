"""Proxies for a submission's functions and modules, which a check calls as if they were in this process.

The code behind a proxy runs in the sandbox (a student's) or in this process (a reference or a mistake). What comes back
is plain data: tensors on the CPU or on `meta`, NumPy's arrays, numbers, tuples, and `Opaque` for what cannot be sent.
"""

from __future__ import annotations

import inspect
import itertools
import math
import re
import traceback
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import dedent
from typing import Any, NamedTuple, Protocol, TypeAlias

import pytest

from .. import bounds
from ..sandbox import replies
from ..sandbox.inside import abilities, wire
from ..sandbox.inside.handlers import RequestHandler, inputs_in, tensors_in
from ..sandbox.inside.later import torch
from ..verdict import MEASURES, RAISED, STOPPED_WITH
from .source_text import Source

Answer: TypeAlias = tuple[wire.Message, wire.Tensors]  # a reply and its tensors
Target: TypeAlias = str | int | list[Any]  # a name, the number of an object, or [target, the name of its attribute]


CELL, BESIDE = "<", "<beside "  # how the file names of answers begin, and of what an answer depends on
AT_FIRST = 0  # the seed of torch's generator at the first call of a check, as when a class is built
OF_TRITON = ("launch", "compile")  # requests for which torch computes nothing
# the answer of what has ended a process before
BARRED: wire.Message = {"ok": False, "error": {"type": bounds.Barred.__name__, "message": ""}, "failed": None}
PASSED = f"{wire.CARRIED}; also a Generator and, as an argument of its own, what `build` gave"
OF_TORCH = ("RuntimeError", "IndexError")  # errors that torch raises for sizes that do not fit


class Gradients(NamedTuple):
    """A value, the gradients of the inputs that require one, in order, and those of the parameters by name."""

    value: Any
    inputs: list[torch.Tensor | None]
    parameters: dict[str, torch.Tensor | None]


class Transport(Protocol):
    """Serves the requests of a Submission."""

    @property
    def lacks(self) -> Mapping[str, str]:
        """What torch can't do there: the names of dtypes, and what it says when it is asked to compute with them."""
        ...

    def ask(self, message: wire.Message, tensors: wire.Tensors) -> Answer:
        """Serve one request to a RequestHandler."""
        ...

    def source(self, name: str) -> Source:
        """The text that defines `name`."""
        ...


class Interview(Protocol):
    """Answers the questions of a student's test to one candidate, see candidates.py."""

    def answer(self, reply: wire.Message, tensors: wire.Tensors) -> Answer:
        """The answer to the question in a reply, as it is sent. Raises WireError if it is none that is answered."""
        ...


class Candidate(Protocol):
    """What a student's test is to judge: a right answer or a wrong one. Its code never leaves this process."""

    @property
    def builds(self) -> bool:
        """Whether it is a class of modules."""
        ...

    def interview(self) -> Interview:
        """Begin to answer questions."""
        ...


class Examination(dict[str, Any]):
    """A request to let a function judge a `candidate`. The other side gets what is in the dict, and no candidate."""

    def __init__(self, message: wire.Message, candidate: Candidate) -> None:
        super().__init__(message)
        self.candidate = candidate


class JoinedTransport(Transport, Protocol):
    """A Transport that can answer several requests at once."""

    def ask_all(self, requests: wire.Encoded, number: int, seconds: float) -> list[Answer] | None:
        """Serve `number` requests joined into one; None if that is not possible or takes more than `seconds`."""
        ...


class EasyCases(Protocol):
    """Asks the cases that several checks share, each once per run, as `gates.Gates` does."""

    def pass_through(self, key: str, asks: Callable[[Submission], Any], check: Submission) -> Any:
        """The result of the case called `key`; `check` is the one that depends on it. Raises what ended the case."""
        ...


class StudentError(Exception):
    """The submission raised an exception of that `type` and `message`; `where` is its Place in the submission or None.

    If the kit raised it for what the submission gave it, it is `by_kit`. `is_value_error`: a ValueError, or a subclass.

    >>> error = submission.function("softmax").error(torch.tensor(1.0))
    >>> error.type, error.message, error.is_value_error
    ('ValueError', 'softmax needs a dimension, got 0', True)
    """

    def __init__(self, failure: replies.Failure) -> None:
        super().__init__(f"{failure.type}: {failure.message}")
        self.failure = failure
        self.type = failure.type
        self.message = failure.message
        self.where = failure.where
        self.is_value_error = failure.value_error
        self.by_kit = failure.by_kit

    def sentence(self) -> str:
        """What happened and where, for the student.

        >>> submission.function("softmax").error(torch.tensor(1.0)).sentence()
        'Your code raised ValueError: softmax needs a dimension, got 0, in the answer, line ...
        """
        if self.by_kit:
            return sentence_start(self.what())
        return (RAISED if self.where else STOPPED_WITH) + self.what()

    def what(self) -> str:
        """The error and its place, to be read at the end of a sentence."""
        first_line = self.message.strip().split("\n")[0][:300]
        text = first_line if self.by_kit else f"{self.type}: {first_line}" if first_line else self.type
        if self.where:
            code = f" (`{self.where.code.strip()}`)" if self.where.code.strip() else ""
            text += f", in {self.where.file}, line {self.where.line}{code}"
        return text + "."


class NotPassed(TypeError):
    """A check passes what cannot be passed: a bug of its own, which the message names, and no error of a student."""

    def __init__(self, what: str, problem: Exception) -> None:
        super().__init__(f"{what} {problem}. A check can pass {PASSED}.")


class Local:
    """Trusted code in this process, behind the same interface as a sandboxed child. `text` is its source.

    `again` runs it once more, where a check asks for a fresh process; without it, only what was built is forgotten.
    Each request is bounded, see bounds.py, where `name` stands for this code: what takes too much fails, and no more.
    """

    def __init__(
        self,
        namespace: dict[str, Any],
        text: str | None = None,
        again: Callable[[], dict[str, Any]] | None = None,
        name: str = "",
    ) -> None:
        self.bench = RequestHandler(namespace, self._place_of)
        self.text = text
        self.again = again
        self.name = name

    @property
    def lacks(self) -> Mapping[str, str]:
        return abilities.lacking_here()

    def _place_of(self, error: BaseException) -> dict[str, Any] | None:
        """The line of `text` that an error came from; None if it came from elsewhere."""
        lines = self.text.splitlines() if self.text else []
        frames = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__)]
        file, number = next((one for one in reversed(frames) if one[0].startswith(CELL)), ("", 0))
        if not 0 < number <= len(lines) or file.startswith(BESIDE):
            return None
        return {"file": "the answer", "line": number, "code": lines[number - 1]}

    def ask(self, message: wire.Message, tensors: wire.Tensors) -> Answer:
        if bounds.is_barred(self.name):
            return dict(BARRED), []
        with bounds.tried(self.name):
            reply, answer = self._answered(message, tensors)
        if error := reply.get("error"):
            bounds.note(self.name, error["type"], error["message"])
        return reply, answer

    def _answered(self, message: wire.Message, tensors: wire.Tensors) -> Answer:
        if message["op"] == "afresh":
            self.bench = RequestHandler(self.again() if self.again else self.bench.namespace, self._place_of)
            return {"ok": True}, []
        if message["op"] == "left":
            return {"ok": True, "left": math.inf}, []
        with warnings.catch_warnings():  # a mistake's code may warn; a student's warnings are not seen either
            warnings.simplefilter("ignore")
            if isinstance(message, Examination):
                self.bench.ask = self._asked(message.candidate.interview())
            return self.bench.handle(message, tensors)

    @staticmethod
    def _asked(interview: Interview) -> Callable[[wire.Message, wire.Tensors], Answer]:
        return lambda question, tensors: interview.answer({"ok": True, "question": question}, tensors)

    def ask_all(self, requests: wire.Encoded, number: int, seconds: float) -> None:
        """None: joining requests saves nothing within one process."""

    def source(self, name: str) -> Source:
        """The text of the file that defines `name`, then that of the definition itself: the last definition counts."""
        if self.text is not None:
            return Source(name, (self.text,), 1)
        code = self.bench.find(name)
        code = getattr(code, "fn", code)  # that of a kernel
        file = Path(inspect.getfile(code)).read_text(encoding="utf-8")
        return Source(code.__name__, (file, dedent(inspect.getsource(code))), 2)


@dataclass
class Counts:
    """How often each outcome was drawn, (n,): for `Submission.note`, which compares such counts by what chance allows.

    >>> Counts(torch.tensor([480, 520])).like(Counts(torch.tensor([510, 490])))
    True
    """

    # two are the same unless chance can hardly explain their difference

    seen: torch.Tensor

    def like(self, other: Counts) -> bool:
        """Whether each share is within 4.5 standard deviations of the other's."""
        if self.seen.shape != other.seen.shape:
            return False
        one, two = self.seen.double(), other.seen.double()
        many, much = one.sum().clamp(min=1), two.sum().clamp(min=1)
        share = (one + two) / (many + much)
        spread = (share * (1 - share) * (1 / many + 1 / much)).sqrt()
        return bool(((one / many - two / much).abs() <= 4.5 * spread + 1e-9).all())


@dataclass
class Transcript:
    """All that a check observed of a submission, one entry for each answer; it is compared with a mistake's."""

    entries: list[tuple[Any, ...]] = field(default_factory=list)

    @property
    def by_chance(self) -> bool:
        """Whether it has counts of random outcomes."""
        return any(isinstance(part, Counts) for entry in self.entries for part in entry)

    def add(self, *entry: Any) -> None:
        self.entries.append(entry)


class Submission:
    """A student's code, as the `submission` of a check.

    After a call, `last` says what it left: the `devices` of what it returned, whether it `changed` an input in place,
    whether it `drew` from torch's generator (all witnessed).

    >>> softmax = submission.function("softmax")
    >>> softmax(torch.zeros(2))
    tensor([0.5000, 0.5000])
    >>> submission.last.devices
    ['cpu']
    """

    # Requests to build, load or set something wait for the next request that needs an answer, because the way to the
    # sandbox and back usually costs more than the work there.

    last: replies.Call

    def __init__(
        self, transport: Transport, transcript: Transcript | None = None, gates: EasyCases | None = None
    ) -> None:
        self.transport = transport
        self.gates = gates  # those of the run; None: each is asked whenever it is come to
        self.transcript = transcript if transcript is not None else Transcript()
        self.handles = itertools.count()  # from 0 in each check, so that its requests are the same each time
        # requests, each with the entry for the transcript if it succeeds
        self.waiting: list[tuple[wire.Message, tuple[Any, ...]]] = []
        self.tensors: wire.Tensors = []  # of the waiting requests and of the next one
        self.kept: list[bool] = []  # of each request that was answered: whether the transcript keeps its value
        self.unbuilt: dict[int, replies.Failure] = {}  # why there is no object of that handle
        self.measured: dict[str, float] = {}  # by names of verdict.MEASURES

    def build(self, name: str, *args: Any, **kwargs: Any) -> Proxy:
        """Construct the class `name`: a `Proxy` of the module. Raises StudentError now or when it is next used.

        >>> scale = submission.build("Scale", 3)
        >>> scale(torch.ones(1, 3))
        tensor([[1., 1., 1.]])
        """
        return self._build({"op": "build", "name": name, **self._pack_arguments(name, args, kwargs)}, "built")

    def build_seeded(self, seed: int, name: str, *args: Any, **kwargs: Any) -> Proxy:
        """Construct a class as `build` does, with other random numbers: those of this seed, where `build` takes 0.

        >>> submission.build_seeded(1, "Scale", 3)(torch.ones(1, 3))
        tensor([[1., 1., 1.]])
        """
        packed = self._pack_arguments(name, args, kwargs)
        return self._build({"op": "build", "name": name, "seed": seed, **packed}, "built")

    def torch_module(self, name: str, **kwargs: Any) -> Proxy:
        """A `Proxy` of one of torch's own modules, to be passed to the submission.

        >>> layer = submission.torch_module("Linear", in_features=2, out_features=3)
        >>> submission.function("size")(layer)
        9
        """
        return self._build({"op": "torch_module", "name": name, "kwargs": self._pack(kwargs)})

    def stub(self, name: str, **kwargs: Any) -> Proxy:
        """A `Proxy` of one of the kit's stub models (sandbox/inside/stubs.py), to be passed to the submission.

        >>> model = submission.stub("Table", vocab_size=3, block_size=4)
        >>> submission.function("size")(model)
        9
        """
        return self._build({"op": "stub", "name": name, "kwargs": self._pack(kwargs)})

    def _build(self, message: wire.Message, *entry: Any) -> Proxy:
        handle = next(self.handles)
        self._tell({**message, "handle": handle}, *entry)
        return Proxy(self, handle)

    def function(self, name: str) -> Proxy:
        """A `Proxy` of the function `name`.

        >>> submission.function("softmax")(torch.zeros(4))
        tensor([0.2500, 0.2500, 0.2500, 0.2500])
        """
        return Proxy(self, name)

    def examine(self, name: str, candidate: Candidate) -> replies.Examined:
        """Let the function `name` judge a candidate, whose answers come from this side. Raises StudentError.

        >>> from autograder.checks.candidates import Candidate
        >>> wrong = Candidate("softmax", lambda: {"softmax": torch.exp})
        >>> submission.examine("sums_to_one", wrong).accepted
        False
        """
        self.settle()
        self.kept.append(True)
        message = Examination({"op": "examine", "target": name, "builds": candidate.builds, "before": []}, candidate)
        reply, answer = self.transport.ask(message, [])
        if not replies.succeeded(reply):
            raise self._failed(replies.failure(reply))
        made = replies.examined(reply, answer)
        self.transcript.add("examined", made.accepted)
        return made

    def source(self, name: str) -> Source:
        """The text that defines `name`, as a source_text.Source; it is never run in the grader's process.

        >>> "scores.exp()" in submission.source("softmax").cells[0]
        True
        """
        return self.transport.source(name)

    def devices(self) -> list[str]:
        """The devices on which the submission can run here.

        >>> "meta" in submission.devices()
        True
        """
        reply, _ = self._ask({"op": "devices"})
        return replies.devices(reply)

    def note(self, *seen: Any) -> None:
        """Record what a check computed from values of `Proxy.sample`, to distinguish one mistake from another.

        >>> tosses = submission.function("toss").sample(1000, seed=1)
        >>> submission.note(Counts(torch.bincount(tosses)))
        """
        self.transcript.add("noted", *seen)

    def measure(self, name: str, value: float) -> None:
        """Record a number that reports show beside the points; `name` is one of `verdict.MEASURES`.

        Measure what this side has computed or counted, never a number that the submission gave. An infinite one, or
        NaN, is not recorded.

        >>> submission.measure("bytes", 128.0)
        """
        if name not in MEASURES:
            raise ValueError(f"{name} is none of what can be measured: {', '.join(MEASURES)}")
        if math.isfinite(value):
            self.measured[name] = value

    def _pack(self, value: object, what: str = "What a check passes") -> wire.Node:
        """A value as a tree for a message; its tensors are sent with the next request.

        Raises NotPassed if it cannot be sent, and WireError if that is because a submission returned it.
        """
        before = len(self.tensors)
        try:
            node = wire.pack(value, self.tensors, whole=True)
            if wire.size_of(self.tensors) > wire.MAX_VALUE:
                raise wire.NotCarried("is too large, with what goes before it")
        except (wire.NotCarried, wire.WireError) as problem:
            del self.tensors[before:]
            if isinstance(problem, wire.WireError):
                raise
            raise NotPassed(what, problem) from None
        return node

    def _pack_arguments(self, of: object, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, wire.Node]:
        """The arguments of a call, by "args" and "kwargs". Raises NotPassed for the first that cannot be sent."""
        before = len(self.tensors)
        try:
            return {"args": self._pack(tuple(args)), "kwargs": self._pack(dict(kwargs))}
        except NotPassed:
            del self.tensors[before:]
            for name, value in (*enumerate(args, start=1), *kwargs.items()):
                self._pack(value, f"Argument {name} of `{of}`" if isinstance(name, int) else f"`{name}` of `{of}`")
            raise

    def _tell(self, message: wire.Message, *entry: Any) -> None:
        """Send a request before the next one that needs an answer; if it succeeds, the transcript gets `entry`."""
        self.waiting.append((message, entry))

    def settle(self) -> None:
        """Send what is waiting, such as a `build`, so that its error is raised here. Raises StudentError.

        >>> scale = submission.build("Scale")
        >>> submission.settle()
        Traceback (most recent call last):
        StudentError: TypeError: Scale.__init__() missing 1 required positional argument: 'width'
        """
        if self.waiting:
            self._ask({"op": "nothing"})

    def afresh(self) -> None:
        """Start the submission again in a fresh process: what was built is gone, and so is all that it has seen.

        >>> scale = submission.build("Scale", 3)
        >>> submission.afresh()
        >>> submission.build("Scale", 2)(torch.ones(2))
        tensor([1., 1.])
        """
        self.settle()
        self.transport.ask({"op": "afresh", "before": []}, [])

    def seconds_left(self) -> float:
        """The seconds that its process may still take for this exercise; infinite where nothing limits them.

        A check that runs out of time costs all points of the exercise, so ask before an optional step that takes long.

        >>> submission.seconds_left()
        inf
        """
        self.settle()
        reply, _ = self.transport.ask({"op": "left", "before": []}, [])
        return float(reply["left"])

    def _ask(self, message: wire.Message, keep: bool = True) -> Answer:
        """Send all waiting requests and this one; return its reply and the reply's tensors. Raises StudentError.

        `keep`: whether its value will be the same for all right answers. Ends the check, as one that is not tried, if
        torch can't compute there with what it sends: that says nothing of the submission.
        """
        waiting, tensors = self.waiting, self.tensors
        self.waiting, self.tensors = [], []
        if message["op"] not in OF_TRITON:
            if (lacks := self.transport.lacks) and (lacking := lacks.keys() & set(map(wire.name_of, tensors))):
                pytest.skip(unable(min(name for name in lacking if name)))
        if (handle := _handle(message)) is not None and (why := self.unbuilt.get(handle)):
            raise self._failed(why)
        self.kept.append(keep)
        reply, answer = self.transport.ask({**message, "before": [earlier for earlier, _ in waiting]}, tensors)
        failure = None if replies.succeeded(reply) else replies.failure(reply, len(waiting))
        for _, entry in waiting[: failure.done if failure else None]:
            if entry:
                self.transcript.add(*entry)
        if failure is None:
            return reply, replies.bounded(answer)
        never_made = [earlier["handle"] for earlier, _ in waiting[failure.done :] if "handle" in earlier]
        self.unbuilt |= dict.fromkeys(never_made, failure)
        raise self._failed(failure)

    def _failed(self, failure: replies.Failure) -> StudentError:
        """The error of a request that failed, which the transcript keeps."""
        self.transcript.add("error", *told(failure))
        return StudentError(failure)


def unable(what: str) -> str:
    """Why a check is not tried: torch can't compute with a dtype here, given by its name."""
    return f"torch can't compute with {what} on this machine"


def _handle(message: wire.Message) -> int | None:
    """The handle of the object that a request is about, if it is about one."""
    target = message.get("target")
    while isinstance(target, list):
        target = target[0]
    return target if isinstance(target, int) else None


def told(failure: replies.Failure) -> tuple[str, str | list[str]]:
    """The parts of an error that distinguish one mistake from another: its type, and part of its message.

    For a ValueError, which everybody words differently and may subclass, these are the numbers. Of another error that
    the submission raises by itself it is the type alone: its wording is everybody's own, too. For those of Python and
    torch it is the message without the name of the function that got wrong arguments.
    """
    if failure.value_error:
        return "ValueError", re.findall(r"\d+", failure.message)
    if failure.where is not None and failure.where.code.lstrip().startswith("raise "):
        return failure.type, ""
    return failure.type, re.sub(r"^[\w.<>]+\(\) ", "", failure.message)


class Proxy:
    """A function, an object or a method of the submission, which a check calls as if it were its own.

    A call takes tensors, arrays of NumPy's, numbers, lists, proxies of modules and a `Generator`. Raises StudentError.

    >>> submission.function("softmax")(torch.zeros(2))
    tensor([0.5000, 0.5000])
    """

    def __init__(self, submission: Submission, target: Target, quiet: bool = False) -> None:
        self.submission = submission
        self.target = target
        self.is_quiet = quiet  # whether its calls are made without gradients
        # shapes by name of the parameters that it must have because weights were loaded into them
        self.named: dict[str, torch.Size] = {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call it. Raises StudentError."""
        return self._call(args, kwargs, {}).value

    def seeded(self, seed: int, *args: Any, **kwargs: Any) -> Any:
        """Call it after seeding torch's generator.

        >>> toss = submission.function("toss")
        >>> toss.seeded(1, 100).equal(toss.seeded(1, 100))
        True
        """
        return self._call(args, kwargs, {"seed": seed}).value

    def sample(self, *args: Any, seed: int | None = None, **kwargs: Any) -> Any:
        """Call it for randomly drawn values, after seeding torch's generator if `seed` is given.

        The values differ between right answers, so they are not recorded; use `Submission.note` for what should be.

        >>> tosses = submission.function("toss").sample(1000, seed=1)
        >>> tosses.shape
        torch.Size([1000])
        """
        return self._call(args, kwargs, {} if seed is None else {"seed": seed}, keep=False).value

    def on(self, device: str, *args: Any, **kwargs: Any) -> Any:
        """Call it with all tensors on `device`. On `meta`, mixing devices raises an error, as it would on a GPU.

        >>> submission.function("softmax").on("meta", torch.zeros(2)).device
        device(type='meta')
        """
        return self._call(args, kwargs, {"device": device}).value

    def counted(self, *args: Any, **kwargs: Any) -> Any:
        """Call it and count products, softmaxes and what replaces them, in `submission.last.products` (witnessed).

        >>> output, _ = submission.function("attend").counted(draw.normal(2, 3), draw.normal(3, 4))
        >>> submission.last.products  # one, and what a softmax by hand consists of
        4
        """
        return self._call(args, kwargs, {"count": True}).value

    def work(self, *args: Any, **kwargs: Any) -> int:
        """Call it: how many numbers its operations multiply, and others read or make (witnessed).

        Right answers take different ways, and round differently, so it is not recorded: use `Submission.note`.

        >>> submission.function("attend").work(draw.normal(2, 3), draw.normal(3, 4))
        48
        """
        return self._call(args, kwargs, {"weigh": True}, keep=False).work

    def watched(self, *args: Any, **kwargs: Any) -> Any:
        """Call it and count the numbers of the largest tensor made, in `submission.last.largest` (witnessed).

        What it keeps for gradients is noted as well, in `submission.last.kept`.

        >>> output, _ = submission.function("attend").watched(draw.normal(2, 3), draw.normal(3, 4))
        >>> submission.last.largest
        8
        """
        return self._call(args, kwargs, {"watch": True}).value

    def launch(self, grid: Sequence[int], *args: Any) -> replies.Launched:
        """Launch it, a Triton kernel, on copies of the tensors among `args`. Raises StudentError.

        Returns these copies as the kernel left them, in `tensors`, and how often it read and wrote each of their
        numbers, in `reads` and `writes`, and which program wrote it last, in `writers` (all witnessed). An access
        outside of the tensors is an error.

        >>> add = submission.function("add_kernel")
        >>> add.launch((1,), torch.ones(3))
        Traceback (most recent call last):
        StudentError: Unusable: `add_kernel` is not defined
        """
        pack = self.submission._pack
        message = {"op": "launch", "target": self.target, "grid": pack(list(grid)), "args": pack(list(args))}
        reply, tensors = self.submission._ask(message)
        made = replies.launched(reply, tensors, [one for one in args if isinstance(one, torch.Tensor)])
        self.submission.transcript.add("launched", made.tensors)
        return made

    def compile(self, *args: Any) -> None:
        """Have Triton's compiler look at it, a Triton kernel, for arguments such as `args` (witnessed).

        It takes no GPU. What it does not compile is a StudentError with the line. Launch it before: what is no kernel,
        and whatever else a launch refuses, is not compiled. Where there is no compiler, the check is not tried.

        >>> submission.function("add_kernel").compile(torch.ones(3))
        Traceback (most recent call last):
        StudentError: Unusable: `add_kernel` is not defined
        """
        message = {"op": "compile", "target": self.target, "args": self.submission._pack(list(args))}
        reply, _ = self.submission._ask(message)
        if not replies.compiler(reply):
            pytest.skip("Triton's compiler can't be used on this machine")

    def do(self, *args: Any, **kwargs: Any) -> None:
        """Call it for its effect on the modules passed to it, ignoring what it returns. Raises StudentError.

        >>> scale = submission.build("Scale", 3)
        >>> submission.function("freeze").do(scale)
        >>> scale.frozen()
        {'factor'}
        """
        self._call(args, kwargs, {}, keep=False)

    def refused(self, *args: Any, **kwargs: Any) -> StudentError | None:
        """Like `error`, but if it is not refused, what it returns is not compared with what mistakes return.

        >>> print(submission.function("softmax").refused(torch.tensor(1.0)))
        ValueError: softmax needs a dimension, got 0
        """
        self.submission.settle()
        try:
            self.do(*args, **kwargs)
        except StudentError as error:
            return error
        return None

    def error(self, *args: Any, **kwargs: Any) -> StudentError | None:
        """Call it for the error that it should raise: a StudentError, or None if it raised nothing.

        >>> print(submission.function("softmax").error(torch.tensor(1.0)))
        ValueError: softmax needs a dimension, got 0
        """
        self.submission.settle()
        try:
            self(*args, **kwargs)
        except StudentError as error:
            return error
        return None

    def gradients(
        self, *args: Any, upstream: Any, device: str | None = None, witness: str | None = None, **kwargs: Any
    ) -> Gradients:
        """Call it and backpropagate `upstream`, one tensor per output used and None for the others.

        Returns `Gradients(value, inputs, parameters)`: `inputs` has one tensor or None for every input with
        `requires_grad`, in order; `parameters` has the same by name. `witness` is "count" or "watch": what `counted` or
        `watched` note of a call then includes the backward pass.

        >>> x = draw.normal(4, 3, grad=True)
        >>> got = submission.build("Scale", 3).gradients(x, upstream=torch.ones(4, 3))
        >>> got.inputs[0].shape, got.parameters["factor"].shape
        (torch.Size([4, 3]), torch.Size([3]))
        """
        options: wire.Message = {"device": device} if device else {}
        made = self._call(args, kwargs, options | ({witness: True} if witness else {}), upstream)
        return Gradients(made.value, made.inputs, made.parameters)

    def method(self, name: str) -> Proxy:
        """A `Proxy` of the method `name` of this object.

        >>> submission.build("Scale", 2).method("inverse")(torch.ones(2))
        tensor([1., 1.])
        """
        return Proxy(self.submission, [self.target, name], self.is_quiet)

    def quiet(self) -> Proxy:
        """The same object, whose calls are made under `torch.no_grad()`, as where a model is used and not trained.

        >>> submission.build("Scale", 2).quiet()(torch.ones(2)).requires_grad
        False
        """
        other = Proxy(self.submission, self.target, quiet=True)
        other.named = self.named
        return other

    def attribute(self, name: str) -> Any:
        """The value of the attribute `name` of this object. Raises StudentError if it has none.

        >>> submission.build("Scale", 2).attribute("width")
        2
        """
        reply, tensors = self.submission._ask({"op": "attribute", "target": [self.target, name]})
        value = replies.attribute(reply, tensors)
        self._need_numbers(value)
        self.submission.transcript.add("value", value)
        return value

    def load(self, state: Mapping[str, torch.Tensor], optional: Collection[str] = ()) -> None:
        """Write weights into parameters by name, as `load_state_dict` would. Raises StudentError.

        A name that the module lacks is an error, unless it is among `optional`.

        >>> scale = submission.build("Scale", 2)
        >>> scale.load({"factor": torch.tensor([2.0, 3.0])})
        >>> scale(torch.ones(2))
        tensor([2., 3.])
        """
        self.named = {name: weights.shape for name, weights in state.items() if name not in optional}
        packed = self.submission._pack(state)
        self.submission._tell({"op": "load", "target": self.target, "state": packed, "optional": list(optional)})

    def update(self) -> None:
        """Change the parameters that learn in place, as a step of an optimizer does: to ¾ of what they are.

        >>> scale = submission.build("Scale", 2)
        >>> scale.update()
        >>> scale(torch.ones(2))
        tensor([0.7500, 0.7500])
        """
        self.submission._tell({"op": "update", "target": self.target})

    def freeze(self, *names: str) -> None:
        """Set `requires_grad` of the named parameters to False.

        >>> scale = submission.build("Scale", 2)
        >>> scale.freeze("factor")
        >>> scale.frozen()
        {'factor'}
        """
        self.submission._tell({"op": "freeze", "target": self.target, "names": list(names)})

    def parameters(self, telling: bool = False) -> dict[str, torch.Tensor]:
        """The parameters by name, as tensors. With `telling`, the transcript gets values, not only shapes.

        >>> submission.build("Scale", 2).parameters()
        {'factor': tensor([1., 1.])}
        """
        parameters = self.weights()
        seen = parameters if telling else {name: list(p.shape) for name, p in parameters.items()}
        self.submission.transcript.add("parameters", seen)
        return parameters

    def weights(self) -> dict[str, torch.Tensor]:
        """The parameters by name, where right answers have different ones, so that they are not recorded.

        >>> submission.build("Scale", 2).weights()
        {'factor': tensor([1., 1.])}
        """
        reply, tensors = self.submission._ask({"op": "state", "target": self.target})
        parameters = replies.parameters(reply, tensors, self.named)
        self._need_numbers(parameters)
        return parameters

    def frozen(self) -> set[str]:
        """The names of the parameters that do not require a gradient.

        >>> submission.build("Scale", 2).frozen()
        set()
        """
        reply, tensors = self.submission._ask({"op": "state", "target": self.target})
        names = replies.frozen(reply, tensors)
        self.submission.transcript.add("frozen", sorted(names))
        return names

    def _called(self) -> str:
        """What a message calls it."""
        name = self.target[-1] if isinstance(self.target, list) else self.target
        return name if isinstance(name, str) else "forward"

    def _handle(self) -> wire.Handle:
        """The handle of this module among the arguments of a call."""
        if not isinstance(self.target, int):
            raise TypeError("only a module that was built can be passed to a call")
        return wire.Handle(self.target)

    def train(self, mode: bool = True) -> Proxy:
        """Switch the module to train mode, as it is after `build`; it returns the proxy.

        >>> submission.build("Scale", 2).eval().train().training()
        True
        """
        self.submission._tell({"op": "mode", "target": self.target, "train": mode})
        return self

    def eval(self) -> Proxy:
        """Switch the module to eval mode; it returns the proxy.

        >>> scale = submission.build("Scale", 2).eval()
        """
        return self.train(False)

    def training(self) -> bool:
        """Whether the module is in train mode (witnessed).

        >>> submission.build("Scale", 2).eval().training()
        False
        """
        reply, _ = self.submission._ask({"op": "training", "target": self.target})
        training = replies.training(reply)
        self.submission.transcript.add("training", training)
        return training

    def seen(self) -> list[replies.SeenCall]:
        """The first calls of a stub model since the last request, as it noted them (witnessed). Raises WireError.

        >>> model = submission.stub("Table", vocab_size=3, block_size=4)
        >>> submission.function("next_token").do(model, torch.tensor([[0, 2]]))
        >>> [call.idx.tolist() for call in model.seen()]
        [[[0, 2]]]
        """
        reply, tensors = self.submission._ask({"op": "seen", "target": self.target})
        seen = replies.seen(reply, tensors)
        self.submission.transcript.add("seen", [(list(c.idx.shape), c.training, c.graph) for c in seen])
        return seen

    def held(self) -> replies.Held:
        """The contents of the tensors that this object refers to (witnessed). Raises StudentError, WireError.

        Classes that do the same hold different tensors, so it is not recorded: use `Submission.note`.

        >>> submission.build("Scale", 3).held().size
        3
        """
        reply, tensors = self.submission._ask({"op": "held", "target": self.target}, keep=False)
        return replies.held(reply, tensors)

    def learn(self, batches: torch.Tensor, rates: Sequence[float], max_norm: float, counted: int = 0) -> replies.Learnt:
        """Train the model for some more steps of AdamW, each with one of `batches` (steps, b, t + 1) and its rate.

        Its `forward` takes tokens (b, t) and gives logits (b, t, vocabulary). Gradients are clipped to `max_norm`. The
        losses are witnessed, and the multiplications, those of the step `counted`. Raises StudentError, WireError.

        >>> model = submission.build("Table", 3)
        >>> model.learn(torch.tensor([[[0, 1, 2]]] * 4), [0.1] * 4, max_norm=1.0).losses.shape
        torch.Size([4])
        """
        request = {"op": "learn", "target": self.target, "batches": self.submission._pack(batches)}
        request |= {"rates": list(rates), "max_norm": max_norm, "counted": counted}
        reply, tensors = self.submission._ask(request, keep=False)
        return replies.learnt(reply, tensors, len(batches))

    def read(self, token: torch.Tensor) -> torch.Tensor:
        """Let the model's `step` read the next token of each text, (b,): the logits for what follows, (b, vocabulary).

        Its state stays where it is until the next token. Raises StudentError, WireError.

        >>> submission.build("Table", 3).read(torch.tensor([2, 0])).shape
        torch.Size([2, 3])
        """
        packed = self.submission._pack(token)
        reply, tensors = self.submission._ask({"op": "read", "target": self.target, "token": packed}, keep=False)
        return replies.logits(reply, tensors, len(token))

    def memory(self, most: int) -> list[torch.Tensor] | None:
        """The state that the model's `step` returned last; None if it holds more than `most` numbers.

        >>> model = submission.build("Table", 3)
        >>> seen = model.read(torch.tensor([2, 0]))
        >>> model.memory(most=100)
        [tensor([2, 0])]
        """
        reply, tensors = self.submission._ask({"op": "memory", "target": self.target, "most": most}, keep=False)
        return replies.memory(reply, tensors, most)

    def resume(self, state: Sequence[torch.Tensor]) -> None:
        """Let the model go on reading with this state.

        >>> model = submission.build("Table", 3)
        >>> model.resume([torch.tensor([1, 1])])
        >>> model.memory(most=100)
        [tensor([1, 1])]
        """
        packed = self.submission._pack(list(state))
        self.submission._tell({"op": "resume", "target": self.target, "state": packed})

    def to(self, device: str | None = None, dtype: torch.dtype | None = None) -> Proxy:
        """Move the module to a device or a dtype; it returns the proxy.

        >>> submission.build("Scale", 2).to(dtype=torch.float64)(torch.ones(2).double())
        tensor([1., 1.], dtype=torch.float64)
        """
        name = wire.DTYPE_NAMES[dtype] if dtype else None
        self.submission._tell({"op": "move", "target": self.target, "device": device, "dtype": name})
        return self

    def _need_numbers(self, value: Any) -> None:
        """Raises StudentError if a tensor in the value lies on `meta`, where no check could look at its numbers."""
        if any(tensor.device.type == "meta" for tensor in tensors_in(value)):
            message = "What it returned is on the device `meta`, which holds no numbers, but no input was."
            raise self.submission._failed(replies.Failure("Unusable", message, None, 0, by_kit=True))

    def _call(
        self,
        args: Sequence[Any],
        kwargs: dict[str, Any],
        options: wire.Message,
        upstream: Any = None,
        keep: bool = True,
    ) -> replies.Call:
        args = [a._handle() if isinstance(a, Proxy) else a for a in args]
        kwargs = {name: a._handle() if isinstance(a, Proxy) else a for name, a in kwargs.items()}
        packed = self.submission._pack_arguments(self._called(), args, kwargs)
        message = {"op": "call", "target": self.target, **packed, **options}
        if self.is_quiet:
            message["quiet"] = True
        if not self.submission.transcript.entries:  # what draws from torch's generator does the same in each process
            message.setdefault("seed", AT_FIRST)
        if upstream is not None:
            message["upstream"] = self.submission._pack(upstream)
        reply, tensors = self.submission._ask(message, keep)
        made = replies.call(reply, tensors, inputs_in((args, kwargs)), upstream is not None, self.named)
        if options.get("device") != "meta":
            self._need_numbers((made.value, made.inputs, made.parameters))
        self.submission.last = made
        seen = [made.value] if keep else []
        self.submission.transcript.add("called", seen, made.changed, made.inputs, made.parameters)
        return made


def sentence_start(text: str) -> str:
    return text[:1].upper() + text[1:]
