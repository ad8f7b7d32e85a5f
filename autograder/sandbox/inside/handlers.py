"""Serves the graders' requests about a submission's names: build, call, load weights, differentiate, move.

The same code serves a student's namespace inside the sandbox and a trusted implementation (a reference, a
mistake) in the grading process. Requests and replies are wire messages; see `RequestHandler.handle`.
"""

from __future__ import annotations

import contextlib
import functools
import sys
import traceback
import types
from types import MethodType
from typing import TYPE_CHECKING, Any

import numpy

from . import held, wire
from .later import is_loaded, is_module, torch
from .refusals import MixedDevices, NoAnswer, NotCompiled, OutOfBounds, TokensRefused, Unusable

if TYPE_CHECKING:
    from collections.abc import Callable

    from .candidates import Ask
    from .training import Learner, Reader

MAX_MESSAGE = 1000
# of a call in a process without torch
NOT_WATCHED = {"kept": 0, "drew": False, "replaced": False, "products": 0, "work": 0, "largest": 0}
UPDATE = 0.75  # what an update of the weights multiplies them by: large enough to be seen in each output


# raised by the kit, not by the submission's code
BY_KIT = (MixedDevices, NoAnswer, NotCompiled, OutOfBounds, TokensRefused, Unusable, wire.WireError)


class RequestHandler:
    """Serves requests about the names in `namespace`.

    `locate` returns the place in the submission that an exception came from; `explain` returns a sentence to put before
    its message; `level` is called after each request.

    `ask` asks the other side a question in the middle of a request, and returns its answer: only `examine` has any.

    Requests are dicts with an "op": `nothing`, `kind`, `build`, `torch_module`, `stub`, `call`, `launch`, `compile`,
    `examine`, `attribute`, `state`, `load`, `update`, `freeze`, `mode`, `training`, `seen`, `held`, `move`, `devices`,
    `remember`, `restore`, `learn`, `read`, `memory`, `resume`. Their "target" is a name, the number of an object that
    was built (the "handle" in that request), or `[target, name]` for an attribute or method. The list "before" holds
    requests to serve first; their replies are not needed. `all` holds several "requests", see `_handle_all`.

    A reply is `{"ok": True, ...}`, or `{"ok": False, "error": …}` if there was an exception, see `describe`; "failed"
    is then the index of the failed request in "before", or None.
    """

    def __init__(
        self,
        namespace: dict[str, Any],
        locate: Callable[[BaseException], dict[str, Any] | None] | None = None,
        explain: Callable[[BaseException], str | None] | None = None,
        level: Callable[[], None] | None = None,
        ask: Ask | None = None,
    ) -> None:
        self.namespace = namespace
        self.bound: dict[str, Any] = {}
        self.objects: dict[int, Any] = {}
        self.random: torch.Tensor | None = None  # the state of torch's generator after the latest call, if there is one
        self.learners: dict[int, Learner] = {}  # by the numbers of their models, as readers are
        self.readers: dict[int, Reader] = {}
        self.remembered: tuple[dict[str, Any], dict[str, Any]] = {}, {}
        self.locate = locate or (lambda error: None)
        self.explain = explain or (lambda error: None)
        self.level = level or (lambda: None)
        self.ask = ask or _ask_nobody

    def bind(self, name: str) -> None:
        """Remember what `name` means now, even if later cells redefine it."""
        if name in self.namespace:
            self.bound[name] = self.namespace[name]

    def handle(self, request: wire.Message, tensors: wire.Tensors) -> tuple[wire.Message, wire.Tensors]:
        """Serve one request; return `(reply, tensors of the reply)`. Exceptions of the submission become replies."""
        if request["op"] == "all":
            return self._handle_all(request, tensors)
        out: wire.Tensors = []
        place = None
        try:
            for place, earlier in enumerate(request.get("before", [])):  # noqa: B007  the reply to an error names it
                self._serve(earlier, tensors, [])
            place = None
            reply = self._serve(request, tensors, out)
        except wire.WireError:
            raise
        except Exception as error:
            return {"ok": False, "error": self.describe(error), "failed": place}, []
        return {"ok": True, **reply}, out

    def _handle_all(self, request: wire.Message, tensors: wire.Tensors) -> tuple[wire.Message, wire.Tensors]:
        """Serve several "requests" one after another; "tensors" says how many tensors belong to each.

        The reply holds their "replies", and in "tensors" how many tensors belong to each of these.
        """
        replies, shares, out, start = [], [], [], 0
        for one, share in zip(request["requests"], request["tensors"], strict=True):
            reply, answer = self.handle(one, tensors[start : start + share])
            start += share
            replies.append(reply)
            shares.append(len(answer))
            out += answer
        return {"ok": True, "replies": replies, "tensors": shares}, out

    def _serve(self, request: wire.Message, tensors: wire.Tensors, out: wire.Tensors) -> wire.Message:
        try:
            return getattr(self, "op_" + request["op"])(request, tensors, out)
        finally:
            self.level()

    def describe(self, error: BaseException) -> wire.Message:
        """An exception as plain data, with the place in the submission that it came from.

        "value_error" says whether it is a ValueError, of whatever subclass; "by_kit", whether the kit raised it.
        """
        sentence = self.explain(error)  # first: it may change what the error says
        try:
            message = str(error)
        except Exception:
            message = "(its message cannot be shown)"
        if isinstance(error, wire.WireError):
            message = f"What your code returned cannot be used: {message}"
        if sentence and sentence not in message[:200]:
            message = f"{sentence} {message}"
        return {
            "type": type(error).__name__[:100],
            "message": message[:MAX_MESSAGE],
            "where": self.locate(error),
            "value_error": issubclass(type(error), ValueError),
            "by_kit": issubclass(type(error), BY_KIT),
        }

    def find(self, target: Any) -> Any:
        """The object of a target: a handle's number, a name, or `[target, name]` for an attribute."""
        if isinstance(target, list):
            return self._attribute(self.find(target[0]), target[1])
        if isinstance(target, int):
            return self.objects[target]
        if target in self.bound:
            return self.bound[target]
        if target not in self.namespace:
            raise Unusable(f"`{target}` is not defined")
        return self.namespace[target]

    def _attribute(self, owner: Any, name: str) -> Any:
        try:
            return getattr(owner, name)
        except AttributeError as error:
            if self.locate(error):  # the submission's own property raised it
                raise
        raise Unusable(f"Your `{_class_of(owner)}` has no attribute `{name}`")

    def _module(self, target: Any) -> torch.nn.Module:
        module = self.find(target)
        if not is_module(module):
            raise Unusable(f"Your `{_class_of(module)}` is not an `nn.Module`, so it has no parameters and no modes")
        return module

    # --- the requests -----------------------------------------------------------------------------

    def op_nothing(self, request: wire.Message, tensors: wire.Tensors, out: wire.Tensors) -> wire.Message:
        return {}

    def op_remember(self, request: wire.Message, tensors: wire.Tensors, out: wire.Tensors) -> wire.Message:
        """Remember what all names mean, for `restore`."""
        self.remembered = dict(self.namespace), dict(self.bound)
        return {}

    def op_restore(self, request: wire.Message, tensors: wire.Tensors, out: wire.Tensors) -> wire.Message:
        """Let all names mean again what they meant at `remember`."""
        for names, before in zip((self.namespace, self.bound), self.remembered, strict=True):
            names.clear()
            names.update(before)
        return {}

    def op_kind(self, request: wire.Message, tensors: wire.Tensors, out: wire.Tensors) -> wire.Message:
        kinds = {}
        for name in request["names"]:
            if name not in self.bound and name not in self.namespace:
                kinds[name] = "missing"
            else:
                value = self.find(name)
                kinds[name] = "class" if isinstance(value, type) else "callable" if callable(value) else "other"
        return {"kinds": kinds}

    def op_build(self, request: wire.Message, tensors: wire.Tensors, out: wire.Tensors) -> wire.Message:
        args = wire.unpack(request["args"], tensors, layout=True)
        kwargs = wire.unpack(request["kwargs"], tensors, layout=True)
        seed(request.get("seed", 0))
        return self._keep(request, self.find(request["name"])(*args, **kwargs))

    def op_torch_module(self, request: wire.Message, tensors: wire.Tensors, out: wire.Tensors) -> wire.Message:
        """Build one of torch's own modules, such as `MultiheadAttention`, to be passed to the submission."""
        kwargs = wire.unpack(request["kwargs"], tensors)
        return self._keep(request, getattr(torch.nn, request["name"])(**kwargs))

    def op_stub(self, request: wire.Message, tensors: wire.Tensors, out: wire.Tensors) -> wire.Message:
        """Build one of the stub models, to be passed to the submission."""
        from .stubs import STUBS

        return self._keep(request, STUBS[request["name"]](**wire.unpack(request["kwargs"], tensors)))

    def _keep(self, request: wire.Message, built: Any) -> wire.Message:
        number = request["handle"]
        self.objects[number] = built
        self.learners.pop(number, None)  # they are those of another object, of the same number
        self.readers.pop(number, None)
        return {}

    def op_state(self, request: wire.Message, tensors: wire.Tensors, out: wire.Tensors) -> wire.Message:
        parameters = dict(self._module(request["target"]).named_parameters())
        return {
            "parameters": wire.pack({n: p.detach() for n, p in parameters.items()}, out),
            "frozen": wire.pack([n for n, p in parameters.items() if not p.requires_grad], out),
        }

    def op_load(self, request: wire.Message, tensors: wire.Tensors, out: wire.Tensors) -> wire.Message:
        """Write weights into parameters by name. A name that the module lacks is an error, as is a wrong shape.

        Names in "optional" are skipped if the module lacks them. Parameters that get no weights become 0, so that a
        superfluous bias costs only its own check. For the same reason, a parameter that does not require a gradient, or
        that may be a mask, stays as it is. Gradients of before are forgotten: they belong to other weights.
        """
        module = self._module(request["target"])
        weights = wire.unpack(request["state"], tensors)
        parameters = dict(module.named_parameters())
        for name in request.get("optional", []):
            if name not in parameters:
                weights.pop(name, None)
        missing = sorted(set(weights) - set(parameters))
        if missing:
            raise _lacks(module, missing)
        with torch.no_grad():
            for name in parameters.keys() - weights.keys():
                if parameters[name].requires_grad and not _may_be_a_mask(parameters[name]):
                    parameters[name].zero_()
            for name, weight in weights.items():
                if parameters[name].shape != weight.shape:
                    should, got = tuple(weight.shape), tuple(parameters[name].shape)
                    parameter = f"The parameter `{name}` of your `{_class_of(module)}`"
                    raise Unusable(f"{parameter} should have shape {should}, but it has {got}")
        module.load_state_dict(weights, strict=False)  # by which modules may notice that they change
        for parameter in parameters.values():
            parameter.grad = None
        return {}

    def op_update(self, request: wire.Message, tensors: wire.Tensors, out: wire.Tensors) -> wire.Message:
        """Change the parameters that learn in place, as a step of an optimizer does, and forget their gradients."""
        with torch.no_grad():
            for parameter in self._module(request["target"]).parameters():
                if parameter.requires_grad and not _may_be_a_mask(parameter):
                    parameter.mul_(UPDATE)
                parameter.grad = None
        return {}

    def op_freeze(self, request: wire.Message, tensors: wire.Tensors, out: wire.Tensors) -> wire.Message:
        """Set `requires_grad` of the named parameters to False."""
        module = self._module(request["target"])
        parameters = dict(module.named_parameters())
        for name in request["names"]:
            if name not in parameters:
                raise _lacks(module, [name])
            parameters[name].requires_grad_(False)
        return {}

    def op_mode(self, request: wire.Message, tensors: wire.Tensors, out: wire.Tensors) -> wire.Message:
        self._module(request["target"]).train(request["train"])
        return {}

    def op_training(self, request: wire.Message, tensors: wire.Tensors, out: wire.Tensors) -> wire.Message:
        return {"training": bool(self._module(request["target"]).training)}

    def op_seen(self, request: wire.Message, tensors: wire.Tensors, out: wire.Tensors) -> wire.Message:
        """The first calls of a stub model, in order, as it noted them; the model then forgets them."""
        stub = self.find(request["target"])
        reply = {"seen": wire.pack(stub.seen, out)}
        stub.seen = []
        return reply

    def op_held(self, request: wire.Message, tensors: wire.Tensors, out: wire.Tensors) -> wire.Message:
        """The contents of the tensors that an object refers to: how many numbers, and which."""
        try:
            found = held.tensors_of(self.find(request["target"]))
        except held.TooManyObjects as error:
            raise Unusable(str(error).capitalize()) from None
        return {"size": held.size_of(found), "numbers": wire.pack(held.numbers_in(found), out)}

    def op_learn(self, request: wire.Message, tensors: wire.Tensors, out: wire.Tensors) -> wire.Message:
        """Train a model for some more steps, each with a batch and a rate; the multiplications of one are counted."""
        from .training import Learner

        number = request["target"]
        if number not in self.learners:
            self.learners[number] = Learner(self._module(number), request["max_norm"])
        batches = wire.unpack(request["batches"], tensors)
        losses, products = self.learners[number].steps(batches, request["rates"], request["counted"])
        return {"losses": wire.pack(torch.tensor(losses, dtype=torch.float64), out), "products": products}

    def op_read(self, request: wire.Message, tensors: wire.Tensors, out: wire.Tensors) -> wire.Message:
        """Let a model read the next token of some texts: the logits for what follows. Its state stays here."""
        logits = self._reader(request["target"]).read(wire.unpack(request["token"], tensors))
        return {"value": wire.pack(logits, out)}

    def op_memory(self, request: wire.Message, tensors: wire.Tensors, out: wire.Tensors) -> wire.Message:
        """The state of a model that reads; without its tensors if they hold more numbers than are asked for."""
        state = self._reader(request["target"]).state or []
        many = sum(part.numel() for part in state)
        sent = state if many <= request["most"] else []
        return {"numbers": many, "value": wire.pack([part.detach().clone() for part in sent], out)}

    def op_resume(self, request: wire.Message, tensors: wire.Tensors, out: wire.Tensors) -> wire.Message:
        """Let a model go on reading with a state that it, or another process, had before."""
        from .training import Reader

        state = wire.unpack(request["state"], tensors)
        self.readers[request["target"]] = Reader(self._module(request["target"]), state)
        return {}

    def _reader(self, number: int) -> Reader:
        from .training import Reader

        return self.readers.setdefault(number, Reader(self._module(number)))

    def op_attribute(self, request: wire.Message, tensors: wire.Tensors, out: wire.Tensors) -> wire.Message:
        return {"value": wire.pack(self.find(request["target"]), out)}

    def op_move(self, request: wire.Message, tensors: wire.Tensors, out: wire.Tensors) -> wire.Message:
        device = request.get("device")
        dtype = wire.DTYPES[request["dtype"]] if request.get("dtype") else None
        self._module(request["target"]).to(device=device, dtype=dtype)
        return {}

    def op_devices(self, request: wire.Message, tensors: wire.Tensors, out: wire.Tensors) -> wire.Message:
        return {"devices": ["cpu", "meta"] + (["cuda"] if is_loaded() and torch.cuda.is_available() else [])}

    def op_call(self, request: wire.Message, tensors: wire.Tensors, out: wire.Tensors) -> wire.Message:
        """Call a module or a function; with "upstream", also differentiate what it returned, "quiet" without gradients.

        The reply holds the value, the devices of its tensors, the indices of inputs that were changed in place,
        the number of products, how many numbers were worked on, the size of the largest tensor that was made, how many
        numbers are kept for gradients, whether a parameter of a module among the arguments was replaced, and whether
        torch's own generator was used.
        With "upstream" (a tree like the output, or like its first parts) it also holds the gradients of each input that
        requires one and, for a module, of each parameter by name; what these take is counted in.
        """
        target = self.find(request["target"])
        args = wire.unpack(request["args"], tensors, layout=True, objects=self.objects)
        kwargs = wire.unpack(request["kwargs"], tensors, layout=True, objects=self.objects)
        device, built = request.get("device"), frozenset(map(id, self.objects.values()))
        if device:
            args, kwargs = _on_device((args, kwargs), device, built)
        given = inputs_in((args, kwargs), built)
        before = [one.detach().clone() if isinstance(one, torch.Tensor) else one.copy() for one in given]
        if not is_loaded():
            value = target(*args, **kwargs)
            seen = _left_by(value, given, before) | NOT_WATCHED
            return seen | {"value": wire.pack(value, out)}
        modules = [m for m in (*args, *kwargs.values()) if is_module(m)]
        before_call = [dict(m.named_parameters()) for m in modules]
        watch_by = watching()
        counters = {"count": watch_by.Products(), "weigh": watch_by.Work(), "watch": watch_by.Largest()}
        products, work, largest = counters.values()
        kept = watch_by.Kept()
        if "seed" in request:
            seed(request["seed"])
        elif self.random is not None and torch.equal(self.random, torch.default_generator.get_state()):
            torch.rand(())  # or who seeds it in each call would leave it as it is
        random = torch.default_generator.get_state()
        asked = next((one for name, one in counters.items() if request.get(name)), contextlib.nullcontext())
        watch = watch_by.OneDevice() if device == "meta" else asked
        _let_torch_make_its_masks()
        with watch, kept if request.get("watch") else contextlib.nullcontext(), _gradients_or_not(request):
            value = target(*args, **kwargs)
        self.random = torch.default_generator.get_state()
        reply = _left_by(value, given, before) | {
            "kept": kept.size(tensors_in(value)) if request.get("watch") else 0,
            "drew": not torch.equal(random, self.random),
            "replaced": not all(
                _same_objects(h, dict(m.named_parameters())) for m, h in zip(modules, before_call, strict=True)
            ),
        }
        if "upstream" in request:
            upstream = wire.unpack(request["upstream"], tensors)
            with asked:
                reply["gradients"] = self._gradients(target, value, upstream, given, device, out)
        reply |= {"products": products.count, "work": work.count, "largest": largest.size}
        reply["value"] = wire.pack(value, out)
        return reply

    def op_launch(self, request: wire.Message, tensors: wire.Tensors, out: wire.Tensors) -> wire.Message:
        """Launch a Triton kernel on a "grid", with copies of the tensors among "args".

        The reply holds these copies as the kernel left them, how often it read and wrote each of their numbers, and
        which program wrote it last.
        """
        from . import launches

        args = wire.unpack(request["args"], tensors, objects=self.objects)
        kernel, grid = self.find(request["target"]), tuple(wire.unpack(request["grid"], tensors))
        try:
            memory = launches.launch(kernel, grid, args)
        except launches.NoKernel:
            name = request["target"]
            raise Unusable(f"`{name}` is no Triton kernel: the line above its `def` should be `@triton.jit`") from None
        shapes = [one.shape for one in memory.tensors]
        seen = {"reads": memory.reads, "writes": memory.writes, "writers": memory.writers}
        reply = {"value": wire.pack(memory.tensors, out)}
        for name, of in seen.items():
            reply[name] = wire.pack([torch.from_numpy(n).view(s) for n, s in zip(of, shapes, strict=True)], out)
        return reply

    def op_compile(self, request: wire.Message, tensors: wire.Tensors, out: wire.Tensors) -> wire.Message:
        """Have Triton's compiler look at a kernel that was launched, for arguments like "args"."""
        from . import compiling

        asked = compiling.compile_kernel(self.find(request["target"]), wire.unpack(request["args"], tensors))
        return {"compiler": asked}

    def op_examine(self, request: wire.Message, tensors: wire.Tensors, out: wire.Tensors) -> wire.Message:
        """Call a function with a candidate, which it judges: whether it returned, and the error if it raised one.

        The candidate is a function, or a class if it "builds" modules.
        """
        from . import candidates

        examiner = self.find(request["target"])
        interview = candidates.Interview(self.ask)
        try:
            examiner(candidates.Candidate(interview, request["builds"]))
        except Exception as error:
            return {"value": wire.pack(False, out), "raised": self.describe(error)}
        finally:
            interview.close()
        return {"value": wire.pack(True, out)}

    def _gradients(
        self, target: Any, value: Any, upstream: Any, given: list[wire.Input], device: str | None, out: wire.Tensors
    ) -> wire.Message:
        outputs, weights = _pair(value, upstream)
        if device:
            weights = [w.to(device) for w in weights]
        inputs = [t for t in given if isinstance(t, torch.Tensor) and t.requires_grad]
        owner = target.__self__ if isinstance(target, MethodType) else target
        named = dict(owner.named_parameters()) if is_module(owner) else {}
        wanted = inputs + list(named.values())
        if any(o.requires_grad for o in outputs):
            pairs = [(o, w) for o, w in zip(outputs, weights, strict=True) if o.requires_grad]
            found = torch.autograd.grad(
                [o for o, _ in pairs], wanted, [w.to(o.dtype) for o, w in pairs], allow_unused=True
            )
        else:
            found = [None] * len(wanted)
        return {
            "inputs": wire.pack(list(found[: len(inputs)]), out),
            "parameters": wire.pack(dict(zip(named, found[len(inputs) :], strict=True)), out),
        }


@functools.cache
def watching() -> types.ModuleType:
    """What watches torch, imported once: later, code may have changed what an import does."""
    from . import watching

    return watching


def _gradients_or_not(request: wire.Message) -> contextlib.AbstractContextManager[object]:
    """Where a call is made: under `torch.no_grad()` if it is "quiet", as where a model is used and not trained."""
    return torch.no_grad() if request.get("quiet") else contextlib.nullcontext()


def _left_by(value: Any, given: list[wire.Input], before: list[Any]) -> wire.Message:
    """The devices of what a call returned, and the places of the inputs that it changed, which were so `before`."""
    try:
        devices = {tensor.device.type for tensor in tensors_in(value)}
    except RecursionError:
        raise Unusable("What your code returned is nested too deeply") from None
    changed = [i for i, (a, b) in enumerate(zip(given, before, strict=True)) if not _same(a, b)]
    return {"devices": sorted(devices), "changed": changed}


def _ask_nobody(question: wire.Message, tensors: wire.Tensors) -> tuple[wire.Message, wire.Tensors]:
    raise Unusable("Nobody answers questions here")


def _let_torch_make_its_masks() -> None:
    """Make torch's `causal_lower_right` and the like work under a dispatch mode, where a subclass can't be made."""
    if bias := sys.modules.get("torch.nn.attention.bias"):  # it takes seconds to import, and few use it
        bias.CausalBias.__new__ = _made_without_modes


def _made_without_modes(cls: type, *args: Any) -> torch.Tensor:
    from torch.utils._python_dispatch import _disable_current_modes

    with _disable_current_modes():
        return torch.Tensor.__new__(cls)


def _may_be_a_mask(parameter: torch.Tensor) -> bool:
    """Whether a parameter is a matrix of nothing but 0 and 1."""
    return parameter.dim() > 1 and bool(((parameter == 0) | (parameter == 1)).all())


def seed(number: int) -> None:
    """Seed torch's CPU generator. `torch.manual_seed` would also format a stack trace, for a GPU that is not there."""
    if is_loaded():
        torch.default_generator.manual_seed(number)


def tensors_in(value: Any, built: frozenset[int] = frozenset()) -> wire.Tensors:
    """The tensors in a tree of lists, tuples and dicts, in order; torch's `tree_leaves` takes ten times as long.

    Objects with an id in `built` are left alone: a submission's own class may be a dict or a list.
    """
    return held.leaves_in(value, torch.Tensor, built)


def inputs_in(value: Any, built: frozenset[int] = frozenset()) -> list[wire.Input]:
    """The same for all that can be changed in place: tensors, and arrays of NumPy's."""
    return held.leaves_in(value, (torch.Tensor, numpy.ndarray), built)


def _on_device(value: Any, device: str, built: frozenset[int]) -> Any:
    if isinstance(value, torch.Tensor):
        return value.detach().to(device).requires_grad_(value.requires_grad)
    if id(value) in built:
        return value
    if isinstance(value, (list, tuple)):
        return type(value)(_on_device(v, device, built) for v in value)
    if isinstance(value, dict):
        return {k: _on_device(v, device, built) for k, v in value.items()}
    return value


def _same(a: wire.Input, b: wire.Input) -> bool:
    if isinstance(a, numpy.ndarray) or isinstance(b, numpy.ndarray):
        return a.shape == b.shape and a.dtype == b.dtype and _equal(a, b)
    if a.device.type == "meta":
        return True
    if a.shape != b.shape:
        return False
    a = a.detach()
    return torch.equal(a, b) or torch.equal(torch.nan_to_num(a), torch.nan_to_num(b))


def _equal(a: Any, b: Any) -> bool:
    """Whether two arrays hold the same numbers; NaN is equal to NaN."""
    return numpy.array_equal(a, b, equal_nan=a.dtype.kind in "fc")


def _same_objects(one: dict[str, torch.nn.Parameter], other: dict[str, torch.nn.Parameter]) -> bool:
    return one.keys() == other.keys() and all(one[name] is other[name] for name in one)


def _class_of(value: object) -> str:
    """The name of its class; the submission's code may have put any text there, with other names in it."""
    name = type(value).__name__
    return name[:100] if name.isidentifier() else "object"


def _lacks(module: torch.nn.Module, names: list[str]) -> Unusable:
    if not list(module.parameters()):
        return Unusable(f"Your `{_class_of(module)}` has no parameters at all: no layers are kept in it")
    listed = ", ".join(f"`{name}`" for name in names)
    return Unusable(f"Your `{_class_of(module)}` has no parameter{'s' if len(names) > 1 else ''} {listed}")


def _pair(value: Any, upstream: Any) -> tuple[wire.Tensors, wire.Tensors]:
    """The outputs in use and their upstream gradients; an output with the gradient None is not used."""
    outputs = list(value) if isinstance(value, (list, tuple)) else [value]
    weights = list(upstream) if isinstance(upstream, (list, tuple)) else [upstream]
    if len(outputs) < len(weights):
        raise Unusable(f"It should return {len(weights)} parts, but it returned {len(outputs)}")
    pairs = [(o, w) for o, w in zip(outputs[: len(weights)], weights, strict=True) if w is not None]
    for output, weight in pairs:
        if not isinstance(output, torch.Tensor):
            raise Unusable(f"Its output should be a tensor, but it is something of type {_class_of(output)}")
        if output.shape != weight.shape:
            should, got = tuple(weight.shape), tuple(output.shape)
            raise Unusable(f"The shape of the output should be {should}, but it is {got}")
    return [o for o, _ in pairs], [w for _, w in pairs]


def place_in(error: BaseException, is_student_file: Callable[[str], bool]) -> dict[str, Any] | None:
    """The last frame of the submission in an exception's traceback: `{"file", "line", "code"}`, or None."""
    place = None
    for frame in traceback.extract_tb(error.__traceback__):
        if is_student_file(frame.filename):
            place = {"file": frame.filename[:200], "line": frame.lineno, "code": (frame.line or "")[:200]}
    return place
