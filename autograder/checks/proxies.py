"""Proxies for a submission's functions and modules: a check calls them as if they were here.

The code behind a proxy runs in the sandbox (a student's) or in this process (a reference or a mistake). What
comes back is plain data: tensors on the CPU or on `meta`, numbers, tuples, and `Opaque` for what does not travel.
"""

from __future__ import annotations

import inspect
import itertools
import math
import re
import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import dedent
from typing import Any, NamedTuple, Protocol, TypeAlias

import torch

from ..sandbox import replies
from ..sandbox.inside import wire
from ..sandbox.inside.handlers import RequestHandler, tensors_in
from .source_text import Source

Answer: TypeAlias = tuple[wire.Message, wire.Tensors]  # a reply, and the tensors of it
Target: TypeAlias = str | int | list[Any]  # a name, the number of an object, or [target, the name of its attribute]


class Gradients(NamedTuple):
    """A value, and the gradients of the inputs that asked for one, in order, and of the parameters by name."""

    value: Any
    inputs: list[torch.Tensor | None]
    parameters: dict[str, torch.Tensor | None]


class Transport(Protocol):
    """What serves the requests of a Submission."""

    def ask(self, message: wire.Message, tensors: wire.Tensors) -> Answer:
        """Serve one request of the workbench's."""
        ...

    def source(self, name: str) -> Source:
        """The text that defines `name`."""
        ...


class JoinedTransport(Transport, Protocol):
    """A Transport that can be asked for several answers at once."""

    def ask_all(self, requests: wire.Encoded, number: int, seconds: float) -> list[Answer] | None:
        """Serve a `number` of requests that are one; None if that is not to be had, or takes more than `seconds`."""
        ...


class StudentError(Exception):
    """The submission's own code raised. `type` and `message` are its exception's; `where` is a place or None."""

    def __init__(self, failure: replies.Failure) -> None:
        super().__init__(f"{failure.type}: {failure.message}")
        self.type = failure.type
        self.message = failure.message
        self.where = failure.where

    def sentence(self) -> str:
        """What happened and where, for the student."""
        first_line = self.message.strip().split("\n")[0][:300]
        text = f"Your code raised {self.type}" + (f": {first_line}" if first_line else "")
        if self.where:
            code = f" (`{self.where.code.strip()}`)" if self.where.code.strip() else ""
            text += f", in {self.where.file}, line {self.where.line}{code}"
        return text + "."


class Local:
    """Trusted code in this process, behind the same interface as a sandboxed child. `text` is what defines it."""

    def __init__(self, namespace: dict[str, Any], text: str | None = None) -> None:
        self.bench = RequestHandler(namespace)
        self.text = text

    def ask(self, message: wire.Message, tensors: wire.Tensors) -> Answer:
        with warnings.catch_warnings():  # wrong code warns, as a student's does where nobody sees it
            warnings.simplefilter("ignore")
            return self.bench.handle(message, tensors)

    def ask_all(self, requests: wire.Encoded, number: int, seconds: float) -> None:
        """Nothing is won by asking at once where no request has a way to go."""

    def source(self, name: str) -> Source:
        """The text of the file that defines `name`, and last, since the last counts, that of the definition itself."""
        if self.text is not None:
            return Source(name, (self.text,), 1)
        code = self.bench.find(name)
        file = Path(inspect.getfile(code)).read_text(encoding="utf-8")
        return Source(code.__name__, (file, dedent(inspect.getsource(code))), 2)


@dataclass
class Counts:
    """How often each outcome was drawn, a tensor (n,): two of them are the same unless chance hardly explains it."""

    seen: torch.Tensor

    def like(self, other: Counts) -> bool:
        """Whether no share of one is further from the other's than 4.5 standard deviations."""
        if self.seen.shape != other.seen.shape:
            return False
        one, two = self.seen.double(), other.seen.double()
        many, much = one.sum().clamp(min=1), two.sum().clamp(min=1)
        share = (one + two) / (many + much)
        spread = (share * (1 - share) * (1 / many + 1 / much)).sqrt()
        return bool(((one / many - two / much).abs() <= 4.5 * spread + 1e-9).all())


@dataclass
class Transcript:
    """All that a check saw of a submission, in order: what is compared with a mistake's."""

    entries: list[tuple[Any, ...]] = field(default_factory=list)

    def add(self, *entry: Any) -> None:
        self.entries.append(entry)


class Submission:
    """What a check gets as `submission`. After a call, `last` tells of it.

    What is built, loaded or set is only asked for together with the next request that has an answer, since each way to
    the sandbox and back costs more than most of what is done there. `settle` asks for it at once.
    """

    last: replies.Call

    def __init__(self, transport: Transport, transcript: Transcript | None = None) -> None:
        self.transport = transport
        self.transcript = transcript if transcript is not None else Transcript()
        self.handles = itertools.count()  # from 0 for each check, so that each asks for the same again
        # requests, with what the transcript is to say if they succeed
        self.waiting: list[tuple[wire.Message, tuple[Any, ...]]] = []
        self.tensors: wire.Tensors = []  # of what is waiting, and of the next request

    def build(self, name: str, *args: Any, **kwargs: Any) -> Proxy:
        """Construct the class `name`: a `Proxy` of the module. Raises StudentError, then or when it is next used."""
        return self._build({"op": "build", "name": name, "args": self.pack(args), "kwargs": self.pack(kwargs)}, "built")

    def torch_module(self, name: str, **kwargs: Any) -> Proxy:
        """A `Proxy` of one of torch's own modules, such as `MultiheadAttention`, to be given to the submission."""
        return self._build({"op": "torch_module", "name": name, "kwargs": self.pack(kwargs)})

    def stub(self, name: str, **kwargs: Any) -> Proxy:
        """A `Proxy` of one of the kit's stub models (sandbox/inside/stubs.py), to be given to the submission."""
        return self._build({"op": "stub", "name": name, "kwargs": self.pack(kwargs)})

    def _build(self, message: wire.Message, *entry: Any) -> Proxy:
        handle = next(self.handles)
        self.tell({**message, "handle": handle}, *entry)
        return Proxy(self, handle)

    def function(self, name: str) -> Proxy:
        """A `Proxy` of the function `name`."""
        return Proxy(self, name)

    def source(self, name: str) -> Source:
        """The text that defines `name`, never run here: a sources.Source."""
        return self.transport.source(name)

    def devices(self) -> list[str]:
        """The devices that the submission can be run on here."""
        reply, _ = self.ask({"op": "devices"})
        return replies.devices(reply)

    def note(self, *seen: Any) -> None:
        """What a check makes of values that it got by `Proxy.sample`, and tells one mistake from another."""
        self.transcript.add("noted", *seen)

    def pack(self, value: object) -> wire.Node:
        """A value as it stands in a message; its tensors will go along with the next request."""
        return wire.pack(value, self.tensors)

    def tell(self, message: wire.Message, *entry: Any) -> None:
        """Have a request made before the next one that has an answer; the transcript then gets `entry`, if any."""
        self.waiting.append((message, entry))

    def settle(self) -> None:
        """Make the requests that wait, so that what they raise is raised here. Raises StudentError."""
        if self.waiting:
            self.ask({"op": "nothing"})

    def ask(self, message: wire.Message) -> Answer:
        """Make all requests that wait, and this one: its reply and the tensors of it. Raises StudentError."""
        waiting, tensors = self.waiting, self.tensors
        self.waiting, self.tensors = [], []
        reply, answer = self.transport.ask({**message, "before": [earlier for earlier, _ in waiting]}, tensors)
        failure = None if replies.succeeded(reply) else replies.failure(reply, len(waiting))
        for _, entry in waiting[: failure.done if failure else None]:
            if entry:
                self.transcript.add(*entry)
        if failure is None:
            return reply, replies.bounded(answer)
        error = StudentError(failure)
        self.transcript.add("error", error.type, _told(error))
        raise error


def _told(error: StudentError) -> str | list[str]:
    """What of an error's message tells one mistake from another: of a refusal, which everybody words, the numbers.

    Of other errors, all but the name of the function that got wrong arguments.
    """
    if error.type == "ValueError":
        return re.findall(r"\d+", error.message)
    return re.sub(r"^[\w.<>]+\(\) ", "", error.message)


class Proxy:
    """A function, an object or a method of the submission.

    Arguments of a call may be proxies of modules, and `wire.Generator`s. After a call, `submission.last` is the
    replies.Call that tells of it.
    """

    def __init__(self, submission: Submission, target: Target) -> None:
        self.submission = submission
        self.target = target
        # the shapes, by name, of the parameters that it must have, since weights were loaded into them
        self.named: dict[str, torch.Size] = {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call it. Raises StudentError."""
        return self._call(args, kwargs, {}).value

    def seeded(self, seed: int, *args: Any, **kwargs: Any) -> Any:
        """Call it after seeding torch's generator."""
        return self._call(args, kwargs, {"seed": seed}).value

    def sample(self, *args: Any, seed: int | None = None, **kwargs: Any) -> Any:
        """Call it, after seeding torch's generator if there is a `seed`, for values that are drawn.

        They differ from one right answer to another, so what is to be remembered of them is for `Submission.note`.
        """
        return self._call(args, kwargs, {} if seed is None else {"seed": seed}, keep=False).value

    def on(self, device: str, *args: Any, **kwargs: Any) -> Any:
        """Call it with all tensors on `device`. On `meta`, mixing devices raises, as it would on a GPU."""
        return self._call(args, kwargs, {"device": device}).value

    def counted(self, *args: Any, **kwargs: Any) -> Any:
        """Call it; `submission.last.products` is then the number of products and softmaxes (witnessed)."""
        return self._call(args, kwargs, {"count": True}).value

    def do(self, *args: Any, **kwargs: Any) -> None:
        """Call it for what it does to the modules that it is given. What it returns is ignored. Raises StudentError."""
        self._call(args, kwargs, {}, keep=False)

    def refused(self, *args: Any, **kwargs: Any) -> StudentError | None:
        """As `do`, for the error that it should raise: a StudentError, or None if it raised nothing."""
        self.submission.settle()
        try:
            self.do(*args, **kwargs)
        except StudentError as error:
            return error
        return None

    def error(self, *args: Any, **kwargs: Any) -> StudentError | None:
        """Call it for the error that it should raise: a StudentError, or None if it raised nothing."""
        self.submission.settle()
        try:
            self(*args, **kwargs)
        except StudentError as error:
            return error
        return None

    def gradients(self, *args: Any, upstream: Any, device: str | None = None, **kwargs: Any) -> Gradients:
        """Call it and pull `upstream` (one tensor per output used, None for the others) back.

        Returns `Gradients(value, inputs, parameters)`: a list with one tensor or None for every input that has
        `requires_grad`, in order, and a dict of parameters by name.
        """
        made = self._call(args, kwargs, {"device": device} if device else {}, upstream)
        return Gradients(made.value, made.inputs, made.parameters)

    def method(self, name: str) -> Proxy:
        """A `Proxy` of the method `name` of this object."""
        return Proxy(self.submission, [self.target, name])

    def attribute(self, name: str) -> Any:
        """The value of the attribute `name` of this object. Raises StudentError if it has none."""
        reply, tensors = self.submission.ask({"op": "attribute", "target": [self.target, name]})
        value = replies.attribute(reply, tensors)
        self.submission.transcript.add("value", value)
        return value

    def load(self, state: Mapping[str, torch.Tensor], optional: Collection[str] = ()) -> None:
        """Write weights into parameters by name, as `load_state_dict` would. Raises StudentError.

        A name that the module lacks is an error, unless it is among `optional`.
        """
        self.named = {name: weights.shape for name, weights in state.items() if name not in optional}
        packed = self.submission.pack(state)
        self.submission.tell({"op": "load", "target": self.target, "state": packed, "optional": list(optional)})

    def freeze(self, *names: str) -> None:
        """Let parameters by name no longer ask for a gradient."""
        self.submission.tell({"op": "freeze", "target": self.target, "names": list(names)})

    def parameters(self, telling: bool = False) -> dict[str, torch.Tensor]:
        """The parameters by name, as tensors. `telling`: what was seen is their values, not shapes alone."""
        reply, tensors = self.submission.ask({"op": "state", "target": self.target})
        parameters = replies.parameters(reply, tensors, self.named)
        seen = parameters if telling else {name: list(p.shape) for name, p in parameters.items()}
        self.submission.transcript.add("parameters", seen)
        return parameters

    def frozen(self) -> set[str]:
        """The names of the parameters that ask for no gradient."""
        reply, tensors = self.submission.ask({"op": "state", "target": self.target})
        names = replies.frozen(reply, tensors)
        self.submission.transcript.add("frozen", sorted(names))
        return names

    def handle(self) -> wire.Handle:
        """What stands for this module among the arguments of a call."""
        if not isinstance(self.target, int):
            raise TypeError("only what was built can be given to a call")
        return wire.Handle(self.target)

    def train(self, mode: bool = True) -> Proxy:
        self.submission.tell({"op": "mode", "target": self.target, "train": mode})
        return self

    def eval(self) -> Proxy:
        return self.train(False)

    def training(self) -> bool:
        """Whether the module is in train mode (witnessed)."""
        reply, _ = self.submission.ask({"op": "training", "target": self.target})
        training = replies.training(reply)
        self.submission.transcript.add("training", training)
        return training

    def seen(self) -> list[replies.SeenCall]:
        """What a stub model saw of its first calls since it was last asked (witnessed). Raises WireError."""
        reply, tensors = self.submission.ask({"op": "seen", "target": self.target})
        seen = replies.seen(reply, tensors)
        self.submission.transcript.add("seen", [(list(c.idx.shape), c.training, c.graph) for c in seen])
        return seen

    def to(self, device: str | None = None, dtype: torch.dtype | None = None) -> Proxy:
        """Move the module to a device or a dtype."""
        name = wire.DTYPE_NAMES[dtype] if dtype else None
        self.submission.tell({"op": "move", "target": self.target, "device": device, "dtype": name})
        return self

    def _call(
        self,
        args: Sequence[Any],
        kwargs: dict[str, Any],
        options: wire.Message,
        upstream: Any = None,
        keep: bool = True,
    ) -> replies.Call:
        pack = self.submission.pack
        args = [a.handle() if isinstance(a, Proxy) else a for a in args]
        kwargs = {name: a.handle() if isinstance(a, Proxy) else a for name, a in kwargs.items()}
        message = {
            "op": "call",
            "target": self.target,
            "args": pack(tuple(args)),
            "kwargs": pack(kwargs),
            **options,
        }
        if upstream is not None:
            message["upstream"] = pack(upstream)
        reply, tensors = self.submission.ask(message)
        made = replies.call(reply, tensors, tensors_in((args, kwargs)), upstream is not None, self.named)
        self.submission.last = made
        transcript = self.submission.transcript
        if keep:
            transcript.add("value", made.value)
        transcript.add("changed", made.changed)
        if upstream is not None:
            transcript.add("gradients", made.inputs, made.parameters)
        return made


def largest(tensor: torch.Tensor) -> float:
    """The largest absolute value in a tensor: NaN if there is one, 0 if there is nothing."""
    return torch.linalg.vector_norm(tensor, torch.inf).item() if tensor.numel() else 0.0


def same(a: Any, b: Any) -> bool:
    """Whether two observations are equal up to rounding: the same structure, dtypes and shapes, values close."""
    if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
        if a.shape != b.shape or a.dtype != b.dtype or a.device != b.device:
            return False
        if a.device.type == "meta" or not a.dtype.is_floating_point:
            return a.device.type == "meta" or torch.equal(a, b)
        digits = {torch.float16: 2e-2, torch.bfloat16: 1e-1, torch.float32: 1e-3}.get(a.dtype, 1e-9)
        a, b = a.double(), b.double()
        error, size = largest(a - b), largest(b)
        if math.isfinite(error) and math.isfinite(size):  # nearly always, and far faster than what is below
            return error <= digits * size + 1e-12
        size = largest(b[torch.isfinite(b)])
        return torch.allclose(a, b, rtol=0, atol=digits * size + 1e-12, equal_nan=True)
    if type(a) is not type(b):
        return False
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, wire.Opaque):
        return a.name == b.name
    if isinstance(a, Counts):
        return a.like(b)
    return a == b
