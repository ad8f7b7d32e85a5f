"""What an error says about the line that raised it: rules on its type and its message.

A rule says what is true of that line whenever torch, NumPy or Python raise this error there, no more: it need not be
the line to mend. An error that the student's code raises by itself says nothing, whatever its message is.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from .student_line import is_of_a_library
from .text import Text

if TYPE_CHECKING:
    from ..sandbox.replies import Failure

Sentence: TypeAlias = str | Callable[..., str]


class Crash(NamedTuple):
    """What an error says: the `id` of a fact, a sentence, and the student's line; empty if it is not known."""

    id: str
    says: str
    line: str


class Rule(NamedTuple):
    """A rule on errors of these `types`, whose message has the pattern `message`, raised in a line with `line`.

    The sentence is filled in with the groups of `message`; as a function, it is made from them.
    """

    id: str
    types: str
    message: str
    says: Sentence
    line: str = ""


DTYPES = {
    **{"double": "float64", "float": "float32", "half": "float16", "bfloat16": "bfloat16", "long": "int64"},
    **{"int": "int32", "long int": "int64", "long long": "int64", "bool": "bool"},
}


def _two_dtypes(*names: str) -> str:
    """The sentence about a line with two dtypes, by torch's names for them."""
    found = [DTYPES.get(name.lower().removeprefix("c10::").strip(), "") for name in names]
    told = f", {' and '.join(found)}" if len(set(found)) > 1 and all(found) else ""
    return (
        f"Two dtypes meet in this line{told}, and torch does not mix them: look at what does not take over the dtype of"
        " the input."
    )


def _no_tensor(function: str, wanted: str, got: str) -> str:
    """The sentence about a function that got something else than a tensor."""
    takes = "a list of tensors" if wanted != "Tensor" else "a tensor"
    if got == "NoneType":
        return f"`{function}` takes {takes}, and gets None in this line."
    if got in ("int", "float"):
        return (
            f"`{function}` takes {takes}, and gets a plain number in this line: the sum of no tensors is the number 0."
        )
    return f"`{function}` takes {takes}, and gets a {got} in this line."


def _many(wanted: str, got: str) -> str:
    """The sentence about a call with that many arguments."""
    return TOO_FEW if int(got) < int(wanted) else TOO_MANY


NONE = "Something in this line is None, like an argument that was not given, or what a function without `return` gives."
NOT_INTERPRETED = (
    "This line calls a block's own method, which a GPU runs and Triton's interpreter does not: write the function, as"
    " `tl.exp(x)` for `x.exp()`."
)
A_TUPLE = "Something in this line is a tuple, like the result of a function that returns several things."
NOT_CALLED = "In this line, a function or a method is used where its result is needed: it is not called."
INTEGERS = "The numbers in this line have an integer dtype, and torch does this only with floating-point ones."
FLOAT_FOR_SIZE = "In this line, a float is given as a size: `/` gives a float, even where it leaves no remainder."
IN_PLACE_GIVEN = (
    "This line changes in place a tensor that needs a gradient, an input or a parameter: torch refuses that."
)
CHANGED_IN_PLACE = (
    "A tensor is changed in place (`+=`, `x[…] = …`, a method whose name ends in `_`) after something was computed from"
    " it: for the gradient, torch needs the values from before."
)
TWO_DEVICES = (
    "Tensors on two devices meet in this line: a new tensor is on the CPU unless you say where, and a tensor that is"
    " no buffer does not move with its module."
)
TOO_FEW = "What this line calls gets fewer arguments than it needs."
TOO_MANY = "What this line calls gets more arguments than it takes."
MANY_FOR_ONE = "This line uses a tensor as one number, or as a yes or no, but it does not hold exactly one number."

COMMA = "The comma at the end of this line turns what comes before it into a tuple of one."
TUPLE = r"^unsupported operand type.*'tuple'|^'tuple' object (?:has no|is not callable)|must be Tensor, not tuple$"

# The first rule that fits counts.
RULES = (
    Rule(
        "used-before-it-is-set",
        "UnboundLocalError",
        r"local variable '(\w{1,60})'",
        "`{0}` has no value yet when this line runs: the lines that set it come later, or were passed over.",
    ),
    # --- names that are not there where it is graded, as sandbox/inside/unavailable.py says it ---
    Rule(
        "not-installed",
        "NameError",
        r"^`(\w{1,60})` is not installed where this was graded",
        "`{0}` is not installed where this was graded, so a line that uses it stops.",
    ),
    Rule(
        "not-installed",
        "NameError",
        r"^`(\w{1,60})` comes from `[\w.]{1,100}`, which is not installed where this was graded",
        "What `{0}` comes from is not installed where this was graded, so a line that uses it stops.",
    ),
    Rule(
        "removed",
        "NameError",
        r"^`(\w{1,60})` was removed by `%reset` in (code cell \d{1,5}):",
        "`%reset` in {1} removed `{0}`: take it away, or define and import again below it what you use.",
    ),
    Rule(
        "removed",
        "NameError",
        r"^`(\w{1,60})` was removed in (code cell \d{1,5}):",
        "What is done in {1} removed `{0}`, which this line uses: take that away, or define it again below.",
    ),
    Rule(
        "not-installed",
        "ModuleNotFoundError",
        r"^There is no module `(\w{1,60})`",
        "`{0}` is not installed where this was graded, so a line that imports it stops.",
    ),
    # --- None, tuples and plain numbers ---
    Rule("not-interpreted", "AttributeError", r"^'NoneType' object has no attribute 'to_tensor'", NOT_INTERPRETED),
    Rule(
        "is-none", "TypeError|AttributeError", r"^(?:bad|unsupported) operand type.*'NoneType'|^'NoneType' object", NONE
    ),
    Rule("is-none", "TypeError", r"received an invalid combination of arguments - got \([^)]*\bNoneType\b", NONE),
    Rule("not-called", "TypeError|AttributeError", r"'(?:builtin_function_or_method|method|function)'", NOT_CALLED),
    Rule("not-called", "RuntimeError", r"^Could not infer dtype of builtin_function_or_method", NOT_CALLED),
    Rule(
        "called",
        "TypeError",
        r"^'(?:torch\.)?(Size|Tensor|int|float|list|Parameter)' object is not callable",
        "This line calls something like a function, with parentheses after it, and it is a `{0}`.",
    ),
    Rule(
        "no-tensor",
        "TypeError",
        r"^(\w+)\(\): argument '\w+' \(position \d+\) must be (Tensor|tuple of Tensors), not (?!tuple)(\w+)$",
        _no_tensor,
    ),
    Rule(
        "no-tensor",
        "TypeError",
        r"^expected Tensor as element \d+ in argument 0, but got (\w+)",
        "The list that this line joins should hold only tensors, but holds a {0}.",
    ),
    Rule(
        "no-array",
        "TypeError",
        r"^expected np\.ndarray \(got numpy\.\w+\)",
        "In this line `from_numpy` gets a single number: NumPy gives one, not an array, for an index of one element.",
    ),
    # --- how many arguments a call gets ---
    Rule(
        "number-of-arguments", "TypeError", r"\bmissing \d+ required (?:positional|keyword-only) arguments?:", TOO_FEW
    ),
    Rule("number-of-arguments", "TypeError", r"^\w+ expected (?:at least )?(\d+) arguments?, got (\d+)$", _many),
    Rule(
        "number-of-arguments",
        "TypeError",
        r"received an invalid combination of arguments - got \(\), but expected",
        TOO_FEW,
    ),
    Rule(  # one, where all that torch offers takes two
        "number-of-arguments",
        "TypeError",
        r"received an invalid combination of arguments - got \([^,()]+\), but expected one of:"
        r"(?:\n \* \([^,=*\n]+, [^,=*\n]+[,)][^\n]*)+\n$",
        TOO_FEW,
    ),
    Rule(  # of one that takes 1, torch says so as well where sizes, which may be many, are no whole numbers
        "number-of-arguments",
        "TypeError",
        r"takes (?:from \d+ to )?(?!1 )\d+ positional arguments but \d+ (?:was|were) given$",
        TOO_MANY,
    ),
    # --- dimensions ---
    Rule(
        "fixed-rank",
        "RuntimeError",
        r"^einsum\(\): the number of subscripts in the equation \((\d+)\) does not match the number of dimensions"
        r" \((\d+)\)",
        "The equation in this line has letters for {0} dimensions, so it fits only those, but here there are {1}.",
    ),
    Rule(
        "fixed-rank",
        "RuntimeError",
        r"^einsum\(\): the number of subscripts in the equation \((\d+)\) is more than the number of dimensions"
        r" \((\d+)\)",
        "The equation in this line has letters for {0} dimensions or more, but here there are {1}.",
    ),
    Rule(
        "fixed-rank",
        "EinopsError",
        r"expected (\d+) dims\. Received (\d+)-dim tensor",
        "The pattern in this line has names for {0} dimensions, so it fits only those, but here there are {1}.",
    ),
    Rule(
        "fixed-rank",
        "RuntimeError",
        r"input\.dim\(\) = (\d+) is not equal to len\(dims\) = (\d+)",
        "This line puts {1} dimensions in order, so it fits only those, but here there are {0}.",
    ),
    Rule(
        "fixed-rank",
        "RuntimeError",
        r"^batch[12] must be a (3)D tensor",
        "The product in this line is one for {0} dimensions alone.",
    ),
    Rule(
        "fixed-rank",
        "ValueError",
        r"^(?:too many|not enough) values to unpack \(expected (\d+)",
        "This line takes a shape apart into {0} sizes, so it fits tensors of {0} dimensions alone.",
        r"=\s*[\w.]+\.(?:shape|size\(\))\s*(?:#.*)?$",
    ),
    Rule(
        "no-such-dimension",
        "IndexError",
        r"^Dimension out of range \(expected to be in range of \[-(\d+), \d+\], but got (-?\d+)\)",
        "This line asks a tensor of rank {0} for dimension {1}: they are counted from 0, or from -1 at the end.",
    ),
    Rule(
        "no-such-dimension",
        "IndexError",
        r"^too many indices for tensor of dimension (\d+)",
        "This line has more indices than the tensor has dimensions: its rank is {0}.",
    ),
    # --- indices ---
    Rule(
        "beyond-the-last",
        "IndexError|RuntimeError",
        r"^index (\d+) is out of bounds for (?:dimension|axis) \d+ with size (\d+)",
        "What this line looks up has {1} places, and it asks for place {0}: they are counted from 0, so it"
        " stops for any place from {1} on.",
    ),
    Rule(
        "beyond-the-last",
        "IndexError",
        r"^index out of range in self",
        "This line asks for a place beyond the last one of what it looks up.",
    ),
    Rule(
        "index-not-whole",
        "IndexError|RuntimeError",
        r"^tensors used as indices must be|^Expected tensor for argument #1 'indices' to have one of the following"
        r"|^index_select\(\): Expected dtype int32 or int64 for index",
        "This line takes numbers for indices, and these are no integers by their dtype: nothing can be looked up for"
        " them.",
    ),
    Rule(
        "boolean-index",
        "IndexError",
        r"^The shape of the mask (\[[\d, ]*\]) at index \d+ does not match the shape of the indexed tensor"
        r" (\[[\d, ]*\])",
        "A boolean index does not broadcast: in this line it has the shape {0}, and the tensor {1}.",
    ),
    # --- dtypes and devices ---
    Rule(
        "two-dtypes",
        "RuntimeError",
        r"^expected m1 and m2 to have the same dtype, but got: ([\w: ]+) != ([\w: ]+)$",
        _two_dtypes,
    ),
    Rule(
        "two-dtypes", "RuntimeError", r"^mat1 and mat2 must have the same dtype, but got (\w+) and (\w+)", _two_dtypes
    ),
    Rule("two-dtypes", "RuntimeError", r"^expected scalar type (\w+) but found (\w+)", _two_dtypes),
    Rule(
        "two-dtypes",
        "RuntimeError",
        r"^Index put requires the source and destination dtypes match, got (\w+) for the destination and (\w+)",
        _two_dtypes,
    ),
    Rule("two-dtypes", "RuntimeError", r"^Expected query, key, and value to have the same dtype", _two_dtypes),
    Rule("two-devices", "MixedDevices", r"", TWO_DEVICES),
    Rule("integers", "RuntimeError", r"could not infer output dtype\..* Got: (?:Long|Int|Bool)", INTEGERS),
    Rule(
        "integers", "RuntimeError", r"^result type \w+ can't be cast to the desired output type (?:Long|Int)", INTEGERS
    ),
    Rule("integers", "NotImplementedError|RuntimeError", r"^\"\w+\" not implemented for '(?:Long|Int)'", INTEGERS),
    Rule("float-for-a-size", "TypeError", r"must be (?:tuple of ints|int), not float$", FLOAT_FOR_SIZE),
    Rule(
        "float-for-a-size",
        "TypeError",
        r"^(?:view|reshape)\(\) received an invalid .* got \([^)]*\bfloat",
        FLOAT_FOR_SIZE,
    ),
    Rule("float-for-a-size", "TypeError", r"type must be tuple of ints,but got float", FLOAT_FOR_SIZE),
    Rule("float-for-a-size", "TypeError", r"must be tuple of ints, but found element of type float", FLOAT_FOR_SIZE),
    # --- the graph, and what lies in memory ---
    Rule(
        "changes-its-input", "RuntimeError", r"leaf Variable that requires grad .* in-place operation", IN_PLACE_GIVEN
    ),
    Rule(
        "leaves-the-graph",
        "RuntimeError",
        r"^Can't call numpy\(\) on Tensor that requires grad",
        "This line hands a tensor to NumPy, which keeps no gradients.",
    ),
    Rule(
        "view",
        "RuntimeError",
        r"^view size is not compatible with input tensor's size and stride",
        "`view` goes through the numbers as they lie in memory, and those of this line do not lie in the order that it"
        " would need, as after a transpose.",
    ),
    Rule(
        "many-for-one",
        "RuntimeError",
        r"^Boolean value of Tensor with more than one|^a Tensor with \d+ elem",
        MANY_FOR_ONE,
    ),
    Rule("many-for-one", "ValueError", r"^only one element tensors can be converted", MANY_FOR_ONE),
    # --- lists ---
    Rule(
        "empty-list",
        "RuntimeError|ValueError",
        r"expects a non-empty TensorList|expected a non-empty list of Tensors",
        "The list of tensors that this line joins is empty.",
    ),
    Rule(
        "unequal-parts",
        "RuntimeError",
        r"^stack expects each tensor to be equal size|^Tensors must have same number of dimensions|^Sizes of tensors"
        r" must match except in dimension",
        "The tensors that this line joins do not fit together: their shapes differ.",
    ),
    # --- modules ---
    Rule(
        "super-comes-first",
        "AttributeError",
        r"^cannot assign \w+ before Module\.__init__\(\) call",
        "This line gives the module a part, and nothing has called `super().__init__()` before.",
    ),
    Rule(
        "registered-twice",
        "KeyError",
        r"attribute '(\w{1,60})' already exists",
        "`self.{0}` is there already when this line registers it: two things have one name.",
    ),
    Rule("too-deep", "RecursionError", r"", "Functions call themselves, or each other, deeper than Python allows."),
)
LONGEST = 60  # characters of a message that a sentence quotes at once
KINDS = ("NoneType", "function", "method", "builtin_function_or_method")  # types that are no names
BY_ITSELF = re.compile(r"\s*(?:raise|assert)\b")  # a line that raises what the student chose


def crash(error: Failure, text: Text) -> Crash | None:
    """What an error says, with the student's `text` at hand; None if no rule knows it."""
    if found := _of_the_whole(error, text):
        return found
    code = error.where.code.strip() if error.where else ""
    if not code or BY_ITSELF.match(code):
        return None
    for rule in RULES:
        found = re.search(rule.message, error.message)
        if found and re.fullmatch(rule.types, error.type) and re.search(rule.line, code):
            groups = found.groups()
            if rule.says is not _two_dtypes and not all(_may_be_quoted(part, code, text) for part in groups):
                return None
            says = rule.says.format(*groups) if isinstance(rule.says, str) else rule.says(*groups)
            return Crash(rule.id, says, code)
    return _of_names(error, text, code)


def _may_be_quoted(part: str, code: str, text: Text) -> bool:
    """Whether a part of a message is short, and no word but one that libraries or the student's text have.

    A submission's process may say anything in a message.
    """
    if len(part) > LONGEST:
        return False
    return not part.isidentifier() or part in KINDS or is_of_a_library(part) or part in code or part in text.definition


def _of_the_whole(error: Failure, text: Text) -> Crash | None:
    """What an error says that need not be raised in the line that it is about."""
    if error.type == "RuntimeError" and "has been modified by an inplace operation" in error.message:
        return Crash("changed-in-place", CHANGED_IN_PLACE, text.change_in_place())
    method = re.search(r"\.(\w{1,60})\(\) takes \d+ positional arguments? but \d+ (?:was|were) given", error.message)
    if error.type == "TypeError" and method and text.lacks_self(method[1]):
        return Crash("self-not-taken", f"`{method[1]}` is a method, and has no parameter `self`.", "")
    return None


def _of_names(error: Failure, text: Text, code: str) -> Crash | None:
    """What an error says of a name, or of a tuple, as far as the text shows where it should come from."""
    if error.type in ("TypeError", "AttributeError") and re.search(TUPLE, error.message):
        comma = text.trailing_comma(code)
        return Crash("trailing-comma", COMMA, comma) if comma else Crash("is-a-tuple", A_TUPLE, code)
    if error.type == "NameError" and (named := re.match(r"name '(\w{1,60})' is not defined", error.message)):
        return _not_defined(text, code, named[1])
    lacks = re.match(r"'(\w{1,60})' object has no attribute '(\w{1,60})'", error.message)
    return _lacking(text, code, *lacks.groups()) if error.type == "AttributeError" and lacks else None


def _not_defined(text: Text, code: str, name: str) -> Crash | None:
    if name in text.kept and code in text.definition:
        return Crash("without-self", f"This line uses `{name}`, and what the module keeps is `self.{name}`.", code)
    if name in text.names or name not in code:  # it may stand in a cell that stopped, or nowhere
        return None
    return Crash("not-defined", f"This line uses `{name}`, and no cell that runs here defines it.", code)


def _lacking(text: Text, code: str, owner: str, name: str) -> Crash | None:
    """About an attribute that an object lacks: a plain number, or one of a class of the student's."""
    if owner in ("int", "float"):
        lacks = f": it has no `{name}`" if name in code else ""  # or torch asked for something of its own
        return Crash("no-tensor", f"In this line, a plain number is used as a tensor{lacks}.", code)
    if name not in code or owner != text.module or name in text.kept or not text.keeps_all:
        return None
    why = "`__init__` sets a name of its own without `self.`" if name in text.locals_of_init else "nothing sets it"
    return Crash("attribute-not-set", f"This line asks a `{owner}` for `{name}`, and {why}.", code)
