"""Finds which names the definition of an exercise can reach, from the text of a submission alone. Nothing is run.

This is for the few rules about how something is computed ("without torch's own softmax"). The text is parsed, so
comments and strings don't matter, nor do calls in other exercises of the same notebook. A student who wants to hide a
call can do so, which is why such a check carries few points.
"""

import ast
import functools
import re
import symtable
import textwrap
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

# Limits on what is parsed of a submission. For dotted names and f-strings, Python's parser takes time and memory that
# grow with the number of parts times the length of the text: an `import a.b.b.…` of 200 kB takes 10 GB.
MAX_LENGTH = 100_000  # characters of a cell
MAX_PARTS = 4_000  # dots and braces in a cell
MAX_IN_ALL = 300_000  # characters of all cells in one Source
MAX_NAME = 60
MAX_KEPT = 8_000  # characters of a cell, to keep its syntax tree: most take 0.1 MB, and at worst it takes 3
KEPT = 48  # trees: of the cells of one submission, and of the right answers to its exercises

FAILS = (SyntaxError, ValueError, RecursionError, MemoryError)  # of Python's parser

T = TypeVar("T")
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
# Lines that IPython understands and Python does not: magics, shell commands, a question mark at the end.
COMMANDS = re.compile(r"^([ \t]*)(?![ \t])(?:[%!].*|[^#\n\"']*=[ \t]*[%!].*)$", re.MULTILINE)
SPECIAL = re.compile(r"^([ \t]*)(?![ \t])(?:[%!?].*|[^#\n]*=[ \t]*[%!].*|.*\?)$", re.MULTILINE)
PROMPTED = re.compile(r"\A\s*(?:>>>|In ?\[\d)|\A\n*[ \t]|^[ \t]*>>> ", re.MULTILINE)  # or indented: as IPython takes it
WRITTEN = re.compile(r"\s*%%(?:writefile|file)[ \t]+(?:-a[ \t]+)?[\"']?(?:\./)?(\w+)\.py\b")  # a module, by its cell
IN_PLACE = ("copy_", "append", "extend", "update", "set_")  # methods by which a value goes on
# torch's attention in all its forms.
TORCHS_ATTENTION = {
    *("scaled_dot_product_attention", "multi_head_attention_forward", "MultiheadAttention", "flex_attention"),
    *("_scaled_dot_product_flash_attention", "_scaled_dot_product_flash_attention_for_cpu"),
    *("_scaled_dot_product_efficient_attention", "_scaled_dot_product_attention_math", "varlen_attn"),
    *("TransformerEncoderLayer", "TransformerDecoderLayer", "_native_multi_head_attention"),
}
# torch's softmax in all its forms, and functions and modules that contain one.
TORCHS_SOFTMAX = {
    *("softmax", "log_softmax", "softmin", "gumbel_softmax", "logsumexp", "logcumsumexp", "_softmax", "_log_softmax"),
    *("Softmax", "Softmax2d", "LogSoftmax", "Softmin", "AdaptiveLogSoftmaxWithLoss"),
    *TORCHS_ATTENTION,
}
BY_NAME = ("getattr", "attrgetter", "methodcaller")
# What a Triton kernel may read besides its own variables: see `outside_triton`.
KNOWN_TO_TRITON = {"range", "min", "max", "abs", "float", "int", "bool", "len", "tuple", "print", "sum", "zip"}
MODULES = re.compile(r"triton|triton\.language|triton\.language\.math|math")
OF_TRITON = re.compile(
    r"triton\.(cdiv|next_power_of_2|jit)|triton\.language\.(math\.|extra\.[\w.]+\.)?[a-z]\w*|math\.\w+"
)
INNER = {"core", "semantic", "standard", "handle", "fn", "run", "rewrite", "rewriter", "builder"}
IN_NO_KERNEL = (
    *(ast.Import, ast.ImportFrom, ast.Try, ast.TryStar, ast.With, ast.ClassDef, ast.AsyncFunctionDef, ast.Await),
    *(ast.Yield, ast.YieldFrom, ast.Global, ast.Nonlocal, ast.Delete, ast.AsyncFor, ast.AsyncWith),
)


@dataclass(frozen=True)
class Source:
    """The text that defines the exercise `name`: its cells in the order in which they ran.

    `before` is the number of cells that ran before the exercise was looked up: a later definition counts only if these
    contain none.
    """

    name: str
    cells: tuple[str, ...]
    before: int


class NoDefinition(LookupError):
    """The text contains no definition that can be parsed."""


def of_a_cell(computed: Callable[[ast.Module], T]) -> Callable[[str], T]:
    """Turns a function of a cell's tree into one of its text, which keeps what comes of the trees that are kept."""
    kept = functools.lru_cache(KEPT)(computed)

    @functools.wraps(computed)
    def of(text: str) -> T:
        return (kept if len(text) <= MAX_KEPT else computed)(tree_of(text))

    return of


def reaches(source: Source, names: Collection[str]) -> list[str]:
    """Those of `names` that the definition reaches by itself or through helpers: sorted, as written (`F.softmax`).

    It finds attributes (`F.softmax`, `x.softmax`), imported names under any alias, and `getattr` with a literal name.
    A variable, function or method that the submission defines itself may have such a name. Raises NoDefinition.
    """
    trees = [tree_of(cell) for cell in _within(source.cells)]
    known = {}
    for tree in trees:
        known.update(_defined(tree))
    early = {}
    for tree in trees[: source.before]:
        early.update(_defined(tree))
    modules = {found[1]: _defined(tree_of(cell)) for cell in source.cells if (found := WRITTEN.match(cell))}
    start = early.get(source.name) or known.get(source.name)
    if start is None:
        raise NoDefinition(source.name)
    found, seen, waiting = set(), set(), [(source.name, start)]
    while waiting:
        name, node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, ast.Import | ast.ImportFrom):
            if written := _from_written(node, modules, name):
                waiting += written
            elif not _is_of(node, modules):
                found |= _imported(node, names, name)
            continue
        own = _bound_in(node)
        for part in _working(node):
            if isinstance(part, ast.Import | ast.ImportFrom):
                if not _is_of(part, modules):
                    found |= _imported(part, names)
            elif isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load) and part.id not in own:
                if part.id in known:
                    waiting.append((part.id, known[part.id]))
                elif part.id in names:  # from a star import
                    found.add(part.id)
            elif isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Load) and part.attr in names:
                base = part.value.id if isinstance(part.value, ast.Name) else ""
                if base in modules and part.attr in modules[base]:
                    waiting.append((part.attr, modules[base][part.attr]))
                elif base not in ("self", "cls") and part.attr not in _methods(known.get(base)):
                    found.add(f"{base}.{part.attr}"[-MAX_NAME:])
            elif isinstance(part, ast.Call) and _last_name(part.func) in BY_NAME:
                found |= {a.value for a in part.args if isinstance(a, ast.Constant) and a.value in names}
    return sorted(found)


def _working(node: ast.AST) -> list[ast.AST]:
    """The parts of a definition that may make its result: without its asserts, and what only these read."""
    if not isinstance(node, Definition):
        return list(ast.walk(node))
    left_out: set[int] = set()
    parts = list(ast.walk(node))
    for statement in parts:
        if _only_tests(statement):
            left_out |= {id(part) for part in ast.walk(statement)}
    read = {
        part.id
        for part in parts
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load) and id(part) not in left_out
    }
    for statement in parts:
        if isinstance(statement, ast.Assign) and all(
            isinstance(target, ast.Name) and target.id not in read for target in statement.targets
        ):
            left_out |= {id(part) for part in ast.walk(statement)}
    return [part for part in parts if id(part) not in left_out]


def _only_tests(node: ast.AST) -> bool:
    """Whether a statement tests or prints something, and keeps nothing of it."""
    call = node.value if isinstance(node, ast.Expr) else None
    name = (_last_name(call.func) or "") if isinstance(call, ast.Call) else ""
    if not (isinstance(node, ast.Assert) or name == "print" or name.startswith("assert")):
        return False
    for part in ast.walk(node):
        keeps = isinstance(part, ast.Call) and (
            _last_name(part.func) in IN_PLACE or any(one.arg == "out" for one in part.keywords)
        )
        if keeps or isinstance(part, ast.NamedExpr):
            return False
    return True


def _is_of(node: ast.Import | ast.ImportFrom, modules: Collection[str]) -> bool:
    """Whether an import takes from a module that a cell has written."""
    if isinstance(node, ast.ImportFrom):
        return node.module in modules
    return all(alias.name in modules for alias in node.names)


def _from_written(
    node: ast.Import | ast.ImportFrom, modules: Mapping[str, Mapping[str, ast.AST]], name: str
) -> list[tuple[str, ast.AST]]:
    """What `name` is, by an import from a module that a cell has written: its name there, and its definition."""
    there = modules.get(node.module or "", {}) if isinstance(node, ast.ImportFrom) else {}
    return [(one.name, there[one.name]) for one in node.names if _bound(one) == name and one.name in there]


def outside_triton(source: Source) -> list[str]:
    """What a kernel, or a function that it calls, uses that Triton's compiler does not know: sorted, as written.

    It knows `triton.language`, numbers, some of Python's own functions, and other kernels; not modules such as torch,
    imports, private attributes, nor `try` and `with`. Raises NoDefinition.
    """
    known: dict[str, ast.AST] = {}
    for cell in _within(source.cells):
        known.update(_defined(tree_of(cell)))
    found, seen, waiting = set(), set(), [source.name]
    if source.name not in known:
        raise NoDefinition(source.name)
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        node = known.get(name)
        if isinstance(node, ast.FunctionDef) and "jit" not in map(_last_name, map(_called, node.decorator_list)):
            found.add(f"{name} without @triton.jit")
        if isinstance(node, ast.Import | ast.ImportFrom):
            if not MODULES.fullmatch(_imported_as(node, name)):
                found.add(name)
        elif node is None:
            if name not in KNOWN_TO_TRITON:
                found.add(name)
        else:
            waiting += _read_by_kernel(node, known, found)
    return sorted(one[:MAX_NAME] for one in found)


def joins_by_words(source: Source) -> bool:
    """Whether a kernel makes a value by `and` or `or`: not in what an `if` or a loop asks. Raises NoDefinition."""
    tree = tree_of(textwrap.dedent(definition(source)))
    asks = (ast.If, ast.IfExp, ast.While, ast.Assert)
    asked = {id(part) for node in ast.walk(tree) if isinstance(node, asks) for part in ast.walk(node.test)}
    return any(isinstance(node, ast.BoolOp) and id(node) not in asked for node in ast.walk(tree))


def _read_by_kernel(node: ast.AST, known: Mapping[str, ast.AST], found: set[str]) -> list[str]:
    """The names of outside that a part of a kernel reads; what else no kernel has, is added to `found`."""
    own, read = _bound_in(node), []
    # decorators and annotations are Python's; defaults are looked at
    inside = [*node.body, *node.args.defaults] if isinstance(node, ast.FunctionDef) else [node]
    if isinstance(node, ast.ClassDef | ast.AsyncFunctionDef):
        found.add(getattr(node, "name", "class"))
        return read
    for part in (part for root in inside for part in ast.walk(root)):
        if isinstance(part, IN_NO_KERNEL):
            found.add(type(part).__name__.lower())
        elif isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load) and part.id not in own:
            read.append(part.id)
        elif isinstance(part, ast.Attribute):
            path, base = _dotted(part), _dotted(part).split(".")[0]
            module = known.get(base) if base not in own else None
            if isinstance(module, ast.Import | ast.ImportFrom):
                path = ".".join([_imported_as(module, base), *path.split(".")[1:]])
                if not (OF_TRITON.fullmatch(path) or MODULES.fullmatch(path)):
                    found.add(_dotted(part))
            if part.attr.startswith("_") or part.attr in INNER:
                found.add(part.attr)
    return read


def _called(node: ast.expr) -> ast.expr:
    """What a call calls; what is no call, itself."""
    return node.func if isinstance(node, ast.Call) else node


def _dotted(node: ast.expr) -> str:
    """`a.b.c` of an attribute of attributes of a name; what is no name is a question mark."""
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else "?"


def _imported_as(node: ast.Import | ast.ImportFrom, name: str) -> str:
    """The whole name of what an import binds to `name`; an `import a.b` binds `a`."""
    alias = next(alias for alias in node.names if _bound(alias) == name)
    if isinstance(node, ast.ImportFrom):
        return f"{'.' * node.level}{node.module or ''}.{alias.name}"
    return alias.name if alias.asname else name


def definition(source: Source) -> str:
    """The text of the definition that counts. Raises NoDefinition."""
    cells = list(_within(source.cells))
    found: dict[bool, str] = {}  # by whether it had run before the exercise was looked up
    for index, cell in enumerate(cells):
        node = _defined(tree_of(cell)).get(source.name)
        if node is not None:
            found[index < source.before] = ast.get_source_segment(readable(cell), node) or ""
    if not found:
        raise NoDefinition(source.name)
    return found.get(True) or found[False]


def names_in(text: str) -> set[str]:
    """All names that a cell reads or assigns (not attributes); none if it can't be parsed."""
    return names_under(tree_of(text))


def names_under(node: ast.AST) -> set[str]:
    """The names that a part of a text reads or assigns (not attributes)."""
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def names_defined_in(text: str) -> set[str]:
    """The names that a cell defines outside functions and classes; none if it can't be parsed."""
    return set(_defined(tree_of(text)))


def definitions_in(text: str) -> dict[str, ast.AST] | None:
    """What a cell defines outside functions and classes: by name the last node that does; None if unparsable."""
    tree = tree_of(text)
    return _defined(tree) if tree.body or only_defines(text) else None


def names_used_by(names: Iterable[str], texts: Iterable[str]) -> set[str]:
    """All names that these cells read in order to define `names`, directly or through other names that they bind."""
    read_by: dict[str, list[set[str]]] = {}
    for text in texts:
        for bound, reads in _reads(text):
            for name in bound:
                read_by.setdefault(name, []).append(reads)
    found, followed, waiting = set[str](), set[str](), set(names)
    while waiting:
        followed |= waiting
        new = {id(reads): reads for name in waiting for reads in read_by.get(name, ())}  # many names may share one set
        found = found.union(*new.values())
        waiting = found - followed
    return found


@of_a_cell
def _reads(tree: ast.Module) -> list[tuple[set[str], set[str]]]:
    """For each node of a cell that binds names or changes their values: these names, and those that it reads."""
    return [(bound, _free_names(node)) for node, bound in _bindings(tree)]


def bindings_in(text: str) -> list[tuple[ast.AST, set[str]]] | None:
    """The nodes of a cell that bind names outside functions and classes, or change their values, with these names.

    None if the cell can't be parsed.
    """
    tree = tree_of(text)
    return list(_bindings(tree)) if tree.body or only_defines(text) else None


def _bindings(tree: ast.Module) -> Iterator[tuple[ast.AST, set[str]]]:
    waiting: list[ast.AST] = list(tree.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, Definition):
            yield node, {node.name}
            continue
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node, {_bound(alias) for alias in node.names}
        elif isinstance(node, ast.For):
            yield node.iter, _roots(node.target)
        elif isinstance(node, ast.With):
            yield from ((one.context_expr, _roots(one.optional_vars)) for one in node.items if one.optional_vars)
        elif isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
            yield node, set[str]().union(*map(_roots, _targets(node)))
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            yield node, _changed_by(node.value)
        blocks = [getattr(node, field, []) for field in ("body", "handlers", "orelse", "finalbody", "cases")]
        waiting.extend(part for block in blocks if isinstance(block, list) for part in block)


def _targets(node: ast.Assign | ast.AnnAssign | ast.AugAssign) -> list[ast.expr]:
    return node.targets if isinstance(node, ast.Assign) else [node.target]


def _roots(target: ast.expr) -> set[str]:
    """The names that a target binds or changes: `a` and `b` for `a, b[0].c`."""
    if isinstance(target, ast.Tuple | ast.List):
        return set[str]().union(*map(_roots, target.elts))
    root = root_of(target)
    return {root.id} if isinstance(root, ast.Name) else set()


def root_of(part: ast.expr) -> ast.expr:
    """The expression before all attributes, indices and stars."""
    while isinstance(part, ast.Attribute | ast.Subscript | ast.Starred):
        part = part.value
    return part


def _changed_by(call: ast.Call) -> set[str]:
    """The names whose values a call may change, as `PARTS.append(Head)` and `setattr(PARTS, "head", Head)` do."""
    if not isinstance(call.func, ast.Name):
        return _roots(call.func)
    return set[str]().union(*map(_roots, call.args[:1])) if call.func.id == "setattr" else set()


def _free_names(node: ast.AST) -> set[str]:
    """The names that a node reads from outside, without local variables; all its names if its scopes are unknown."""
    if not isinstance(node, Definition):
        return names_under(node)
    try:
        return globals_of(node)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return names_under(node)


def globals_of(node: ast.AST) -> set[str]:
    """The global names that a definition reads, when it is made or when it is called. Raises SyntaxError."""
    top = symtable.symtable(ast.unparse(node), "<cell>", "exec")
    reads = {symbol.get_name() for symbol in top.get_symbols() if symbol.is_referenced()}
    for table in _inner(top):
        reads |= {symbol.get_name() for symbol in table.get_symbols() if symbol.is_global()}
    return reads


def _inner(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    """The scopes in a scope, and those in these."""
    for inner in table.get_children():
        yield inner
        yield from _inner(inner)


def only_defines(text: str) -> bool:
    """Whether a cell holds nothing but definitions, imports, assignments and comments; False if it can't be parsed."""
    body = tree_of(text).body
    if not body:
        return all(line.strip()[:1] in ("", "#") for line in text.splitlines())
    return all(map(_only_defines, body))


def _only_defines(node: ast.stmt) -> bool:
    if isinstance(node, ast.Assign | ast.AnnAssign):
        targets = _targets(node)
        stored = [part for target in targets for part in ast.walk(target)]
        return not any(isinstance(part, ast.Attribute | ast.Subscript) for part in stored)
    is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return is_text or isinstance(node, Definition | ast.Import | ast.ImportFrom)


def is_stub(text: str, name: str) -> bool:
    """Whether a cell defines `name` and leaves it unwritten: each of its functions ends in `raise NotImplementedError`.

    Besides that, these hold nothing but their docstring and a call of `super().__init__`.
    """
    return _is_unwritten_one(_defined(tree_of(text)).get(name))


def _is_unwritten_one(node: ast.AST | None) -> bool:
    methods = node.body if isinstance(node, ast.ClassDef) else [node]
    functions = [method for method in methods if isinstance(method, ast.FunctionDef)]
    return bool(functions) and all(map(_is_unwritten, functions))


def ends_unwritten(text: str, name: str, released: str) -> bool:
    """Whether a cell defines `name` several times, the last time as a stub or as `released`, and before that not."""
    every = [node for node in tree_of(text).body if isinstance(node, Definition) and node.name == name]
    if len(every) < 2 or not (_is_unwritten_one(every[-1]) or _is_in(every[-1], released)):
        return False
    return any(not _is_unwritten_one(one) and not _is_in(one, released) for one in every[:-1])


def _is_in(node: ast.AST, text: str) -> bool:
    """Whether a text has the same definition."""
    return any(ast.dump(node) == ast.dump(other) for other in tree_of(text).body)


def _is_unwritten(function: ast.FunctionDef) -> bool:
    *before, last = function.body
    raised = last.exc if isinstance(last, ast.Raise) else None
    error = raised.func if isinstance(raised, ast.Call) else raised
    if not (isinstance(error, ast.Name) and error.id == "NotImplementedError"):
        return False
    return all(isinstance(line, ast.Expr) and _is_beside_the_point(line.value) for line in before)


def _is_beside_the_point(value: ast.expr) -> bool:
    """Whether an expression is a docstring or a call of `super().__init__`."""
    return isinstance(value, ast.Constant) or (isinstance(value, ast.Call) and _last_name(value.func) == "__init__")


def same_code(text: str, other: str) -> bool:
    """Whether two cells are the same but for comments and blanks; False if they cannot be parsed."""
    one, two = tree_of(text), tree_of(other)
    try:
        return bool(one.body) and ast.dump(one) == ast.dump(two)
    except RecursionError:
        return False


def without_comments(text: str) -> str:
    """A cell without comments, in which students may write who they are; as it is if it cannot be parsed."""
    tree = tree_of(text)
    if not tree.body or SPECIAL.search(text):
        return text
    try:
        return ast.unparse(tree)
    except (ValueError, RecursionError, MemoryError):
        return text


def _within(cells: Iterable[str]) -> Iterator[str]:
    """The cells, with those beyond MAX_IN_ALL characters emptied."""
    left = MAX_IN_ALL
    for cell in cells:
        left -= len(cell)
        yield cell if left >= 0 else ""


def tree_of(text: str) -> ast.Module:
    """The syntax tree of a cell, which must not be changed; an empty one if it is not Python, or too large."""
    return _read_by(_kept if len(text) <= MAX_KEPT else _parsed, text)


def own_tree_of(text: str) -> ast.Module:
    """The same, but one that may be changed."""
    return _read_by(_parsed, text)


def readable(text: str) -> str:
    """A cell as Python reads it, line by line: without prompts, indentation and magics; as it is if nothing helps."""
    for attempt in _attempts(text):
        if _parses(attempt):
            return attempt
    return text


def _read_by(parse: Callable[[str], ast.Module], text: str) -> ast.Module:
    for attempt in _attempts(text):
        try:
            return parse(attempt)
        except FAILS:
            continue
    return ast.Module(body=[], type_ignores=[])


def _parses(text: str) -> bool:
    try:
        (_kept if len(text) <= MAX_KEPT else _parsed)(text)
        return True
    except FAILS:
        return False


def _attempts(text: str) -> Iterator[str]:
    """The ways to read a cell, each with as many lines: as it is, as IPython takes it, and without its commands."""
    if len(text) > MAX_LENGTH or text.count(".") > MAX_PARTS or text.count("{") > MAX_PARTS:
        return
    yield text
    plain = _as_ipython_takes_it(text) if PROMPTED.search(text) else text
    yield from dict.fromkeys(one for one in _without_commands(plain) if one != text)


def _without_commands(text: str) -> tuple[str, str, str]:
    return text, COMMANDS.sub(r"\1pass", text), SPECIAL.sub(r"\1pass", text)


def _as_ipython_takes_it(text: str) -> str:
    """A cell without what IPython takes away before it reads it: the indentation of all of it, and prompts."""
    from IPython.core.inputtransformer2 import classic_prompt, ipython_prompt, leading_indent

    start = len(text) - len(text.lstrip("\n"))
    lines = text[start:].splitlines(keepends=True)
    for transform in (leading_indent, classic_prompt, ipython_prompt):
        lines = transform(lines)
    return "\n" * start + "".join(lines)


def _parsed(text: str) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text)


# what fails is not kept, since that may be for want of memory
_kept = functools.lru_cache(KEPT)(_parsed)


def _defined(tree: ast.Module) -> dict[str, ast.AST]:
    """The names that a cell defines outside functions and classes, each with the last node that defines it."""
    known, waiting = {}, list(reversed(tree.body))
    while waiting:
        node = waiting.pop()
        if isinstance(node, Definition):
            known[node.name] = node
            continue
        if isinstance(node, ast.Import | ast.ImportFrom):
            known.update({_bound(alias): node for alias in node.names})
        for part in ast.walk(node) if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign) else ():
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                known[part.id] = node
        blocks = [getattr(node, field, []) for field in ("body", "handlers", "orelse", "finalbody")]
        waiting.extend(reversed([n for block in blocks if isinstance(block, list) for n in block]))
    return known


def _bound_in(node: ast.AST) -> set[str]:
    """The names that a function binds anywhere inside it: arguments, variables, inner functions."""
    if not isinstance(node, Definition):
        return {a.arg for a in ast.walk(node) if isinstance(a, ast.arg)}
    own, elsewhere = set(), set()
    for part in ast.walk(node):
        if isinstance(part, ast.arg):
            own.add(part.arg)
        elif isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            own.add(part.id)
        elif isinstance(part, Definition) and part is not node:
            own.add(part.name)
        elif isinstance(part, ast.Import | ast.ImportFrom):
            own |= {_bound(alias) for alias in part.names}
        elif isinstance(part, ast.Global):
            elsewhere |= set(part.names)
    return own - elsewhere


def _methods(node: ast.AST | None) -> set[str]:
    """The names of a class's own methods."""
    return {n.name for n in node.body if isinstance(n, Definition)} if isinstance(node, ast.ClassDef) else set()


def _imported(node: ast.Import | ast.ImportFrom, names: Collection[str], only: str | None = None) -> set[str]:
    """Those of `names` that an import statement imports (under the alias `only`, if given)."""
    aliases = [a for a in node.names if only is None or _bound(a) == only]
    return {a.name[-MAX_NAME:] for a in aliases if a.name.split(".")[-1] in names}


def _bound(alias: ast.alias) -> str:
    return alias.asname or alias.name.split(".")[0]


def _last_name(node: ast.AST) -> str | None:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else None
