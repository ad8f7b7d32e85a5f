"""Asks Triton's compiler whether it takes a kernel, without a GPU: what the interpreter runs, a GPU may not.

The interpreter changes Triton's modules, so the compiler gets modules of its own, imported once more. It goes no
further than its first language, where all types and shapes are known: that takes no GPU, no file and no other program.
"""

from __future__ import annotations

import contextlib
import inspect
import os
import re
import sys
import types
import warnings
from typing import TYPE_CHECKING, Any

import torch

from .refusals import NotCompiled

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

TARGET = ("cuda", 80, 32)  # what its numbers change comes later
LIBRARY = "triton._C"  # can't be loaded twice
POINTERS = {torch.float16: "*fp16", torch.float32: "*fp32", torch.float64: "*fp64", torch.int32: "*i32"}
LONGEST = 150  # characters of the compiler's own words

# What the compiler says, as it is told. No name is in it, so that the same mistake is always told in the same words.
REASONS = (
    (r"unsupported AST node type: NamedExpr", "Triton has no `:=`"),
    (r"unsupported AST node type: (Break|Continue|Lambda|Dict|Set|Try|With|Delete)", "Triton has no `{}`"),
    (r"(dict|list|set|zip|enumerate|map|filter|all|any|round|sorted|reversed) is not defined", "Triton has no `{}`"),
    (r"simultaneous multiple comparison", "Triton has no `a < b < c`, write two comparisons"),
    (r"ListComp|only tuple comprehensions", "Triton has no lists that a comprehension makes"),
    (r"f-string", "Triton has no f-string of numbers that are known only when it runs"),
    (r"__setitem__|no attribute append", "a list or a block can't be changed in place"),
    (r"Loop-carried variable", "a variable that this loop changes has another shape or dtype before it"),
    (r"initial value for .* redefines it|[Mm]ismatched type", "this `if` changes the shape or dtype of a variable"),
    (r"arange's arguments must be", "`tl.arange` takes constants only, and a start can be added to it"),
    (r"static_range \w+ value is not", "`tl.static_range` takes constants only"),
    (r"Cannot access global variable", "a constant from outside is written `NAME = tl.constexpr(…)`"),
    (r"Did you forget to add @triton.jit", "it calls what is Python's, as `triton.cdiv` is: `tl.cdiv` is Triton's"),
    (r"NameError", "a name in it is not known here: to Triton, what begins in a loop or an `if` ends there"),
)

_apart: dict[str, types.ModuleType] = {}


def _is_of_triton(module: str) -> bool:
    return module.partition(".")[0] == "triton" and not module.startswith(LIBRARY)


@contextlib.contextmanager
def _apart_from_the_interpreter() -> Iterator[None]:
    """Let `triton` mean the modules that compile, which are imported the first time."""
    interpreting = {name: module for name, module in sys.modules.items() if _is_of_triton(name)}
    wish = os.environ.pop("TRITON_INTERPRET", None)
    for name in interpreting:
        del sys.modules[name]
    sys.modules.update(_apart)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for name in [name for name in sys.modules if _is_of_triton(name)]:
            _apart[name] = sys.modules.pop(name)
        sys.modules.update(interpreting)
        if wish is not None:
            os.environ["TRITON_INTERPRET"] = wish


class Functions:
    """The kernel of a submission and the functions that it calls, as the compiler wants them."""

    def __init__(self, kernel: Any) -> None:
        self.interpreted = type(kernel)
        self.scopes: dict[int, dict[str, Any]] = {}
        self.compiled: dict[int, Any] = {}

    def compiling(self, function: Any) -> Any:
        """A function of the interpreter for the compiler."""
        if id(function) not in self.compiled:
            from triton.runtime.jit import JITFunction

            own = function.fn
            code = types.FunctionType(
                own.__code__, self._scope(own.__globals__), own.__name__, own.__defaults__, own.__closure__
            )
            code.__annotations__, code.__kwdefaults__ = own.__annotations__, own.__kwdefaults__
            code.__module__, code.__qualname__ = own.__module__, own.__qualname__
            self.compiled[id(function)] = JITFunction(code)
        return self.compiled[id(function)]

    def _scope(self, names: dict[str, Any]) -> dict[str, Any]:
        """The globals of a function, with the compiler's own things in place of the interpreter's."""
        if id(names) not in self.scopes:
            scope = self.scopes[id(names)] = {}
            scope.update((name, self._value(one)) for name, one in names.items())
        return self.scopes[id(names)]

    def _value(self, one: Any) -> Any:
        if isinstance(one, types.ModuleType):
            return sys.modules.get(one.__name__, one)
        own = one.fn if isinstance(one, self.interpreted) else one
        if isinstance(own, types.FunctionType | type) and _is_of_triton(own.__module__ or ""):
            return getattr(sys.modules.get(own.__module__), own.__name__, one)
        if isinstance(one, self.interpreted):
            with contextlib.suppress(OSError, TypeError, ValueError):  # its text is not known
                return self.compiling(one)
        if type(one).__module__ == "triton.language.core" and type(one).__name__ in ("constexpr", "dtype"):
            kind = getattr(sys.modules["triton.language.core"], type(one).__name__)
            return kind(one.name if type(one).__name__ == "dtype" else one.value)
        return one

    def place(self, error: Any) -> tuple[str, int] | None:
        """The file and line of the submission that an error of the compiler is about."""
        for function in self.compiled.values():
            if function.src == error.src:
                lines, first = inspect.getsourcelines(function.fn)
                before = next(i for i, line in enumerate(lines) if line.lstrip().startswith("def "))  # decorators
                return function.fn.__code__.co_filename, first + before + getattr(error.node, "lineno", 1) - 1
        return None


def compile_kernel(kernel: Any, args: Sequence[Any]) -> bool:
    """Have Triton's compiler look at a kernel for arguments such as these. Raises NotCompiled, with the line.

    Returns whether there was a compiler to ask; one that stumbles over this kernel alone takes it.
    """
    types_of = [_type_of(one) for one in args]
    with _apart_from_the_interpreter():
        try:
            refused = _refusal(kernel, args, types_of)
        except Exception:
            return _compiles_anything()
    if refused:
        reason, file, line = refused
        # as if this line had raised it
        error = NotCompiled(f"A GPU could not run your kernel: {reason}")
        exec(compile("\n" * (line - 1) + "raise error", file, "exec"), {"error": error})
    return True


def _nothing(x):  # what any compiler takes: it reads this text, and knows neither the annotation nor a docstring
    pass


def _compiles_anything() -> bool:
    """Whether there is a compiler: not without Triton's library, nor with a version in which names differ."""
    kernel = types.SimpleNamespace(fn=_nothing)
    with contextlib.suppress(Exception):
        _to_ir(Functions(kernel).compiling(kernel), [0], ["i32"])
        return True
    return False


def _refusal(kernel: Any, args: Sequence[Any], types_of: Sequence[str]) -> tuple[str, str, int] | None:
    """Why the compiler does not take a kernel, and the file and line; None if it does. Raises what ends it."""
    from triton.compiler.errors import CompilationError

    functions = Functions(kernel)
    try:
        _to_ir(functions.compiling(kernel), args, types_of)
    except CompilationError as error:
        links: list[Any] = [error]
        while isinstance(links[-1].__cause__, CompilationError):
            links.append(links[-1].__cause__)
        places = [place for link in links if (place := functions.place(link))]
        return _reason(str(links[-1].error_message or links[-1].__cause__)), *places[-1]
    return None


def _to_ir(function: Any, args: Sequence[Any], types_of: Sequence[str]) -> None:
    from triton._C.libtriton import ir
    from triton.backends.compiler import GPUTarget
    from triton.compiler.code_generator import ast_to_ttir
    from triton.compiler.compiler import ASTSource, make_backend

    backend: Any = make_backend(GPUTarget(*TARGET))
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    options = backend.parse_options({})
    fixed = {one.name: value for one, value in zip(function.params, args, strict=True) if one.is_constexpr}
    signature = {
        one.name: "constexpr" if one.name in fixed else kind
        for one, kind in zip(function.params, types_of, strict=True)
    }
    source = ASTSource(function, signature, fixed)
    codegen, modules = backend.get_codegen_implementation(options), backend.get_module_map()
    ast_to_ttir(function, source, context, options, codegen, modules)


def _type_of(one: Any) -> str:
    """An argument's type, as the compiler calls it."""
    if isinstance(one, torch.Tensor):
        return POINTERS[one.dtype]
    return "i1" if isinstance(one, bool) else "i32" if isinstance(one, int) else "fp32"


def _reason(said: str) -> str:
    """Why the compiler does not take a line: for what is likely in our words, else in its own."""
    for pattern, reason in REASONS:
        if found := re.search(pattern, said):
            return reason.format(*(group.lower() for group in found.groups()))
    words = re.sub(r"^\w+\((['\"])(.*)\1\)$", r"\2", said.strip().split("\n")[0])
    return f"Triton's compiler says {words[:LONGEST].rstrip('.')!r}"
