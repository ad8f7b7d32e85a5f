"""What a module keeps from one call to the next, where no gradients are asked for, costs points and is named."""

import ast
import runpy
import textwrap

import pytest

from autograder import course
from autograder.checks.proxies import Local
from autograder.checks.runner import Graders
from autograder.mistakes.bank import answer_path, right_answer, styles_of
from autograder.mistakes.kept import kept_from_calls
from autograder.mistakes.name_check import cells_for
from autograder.mistakes.text import Text

ASKED = "        weights = self.weigh(queries @ up_key @ latent.transpose(2, 3)) "
ATTENDED = "        output, _ = attention("
QUERIES = "        queries = self.W_query(x).view(b, t, self.num_heads, self.head_dim).transpose(1, 2) "
# What stands beside a module, in a cell of its own.
BESIDE = """STORE = {}


@functools.lru_cache(maxsize=None)
def once(x):
    return x + 1


def stored(x):
    if x not in STORE:
        STORE[x] = x + 1
    return STORE[x]


class Linear(nn.Linear):
    def forward(self, x):
        if self.past is None:
            self.past = x
        return self.past


class Cache:
    def extend(self, x):
        self.x = self.x + x
        return self.x
"""
PAST = """        past = torch.ones(t, t, dtype=torch.bool, device=x.device).tril()
        scores = scores.masked_fill(~past, -torch.inf)
"""


def masks_by(key):
    """Masks of scores that are added, one for each key."""
    made = "torch.full((t, t), -torch.inf, device=x.device, dtype=x.dtype).triu(1)"
    return {
        PAST: '        if not hasattr(self, "masks"):\n            self.masks = {}\n'
        f"        if {key} not in self.masks:\n            self.masks[{key}] = {made}\n"
        f"        scores = scores + self.masks[{key}]\n"
    }


# By exercise: the attribute that is kept, and what is changed in the course's answer.
KEPT = [
    (  # a matrix of the first call without gradients
        "LatentAttention",
        "_up",
        {
            ASKED: "        if not torch.is_grad_enabled():\n"
            '            if not hasattr(self, "_up"):\n'
            "                self._up = up_key.clone(), up_value.clone()\n"
            f"            up_key, up_value = self._up\n{ASKED}"
        },
    ),
    (  # a matrix of the first call in eval mode
        "LatentAttention",
        "_absorbed",
        {
            ASKED: "        if not self.training:\n"
            '            if getattr(self, "_absorbed", None) is None:\n'
            "                heads = self.W_query.weight.view(self.num_heads, self.head_dim, -1).transpose(1, 2)\n"
            "                self._absorbed = (heads @ up_key).detach()\n"
            f"            queries, up_key = x[:, None], self._absorbed\n{ASKED}"
        },
    ),
    (  # keys and values of earlier calls, for single tokens
        "MultiHeadAttention",
        "past",
        {
            "        scores = Q @ K.": "        if not self.training and not torch.is_grad_enabled():\n"
            '            if n == 1 and getattr(self, "past", None) is not None:\n'
            "                K, V = (torch.cat(pair, dim=2) for pair in zip(self.past, (K, V)))\n"
            "            self.past = K, V\n"
            "        scores = Q @ K.",
            "self.mask[:n, :n]": "(self.mask[:n, :n] if n > 1 else torch.ones(1, K.shape[2], dtype=torch.bool))",
        },
    ),
    (  # weights of the first input of this length
        "SingleHeadSelfAttention",
        "saved",
        {
            "        self.k = k\n": "        self.k = k\n        self.saved = None\n",
            "        return torch.mm(weights, values) ": "        if not torch.is_grad_enabled():\n"
            "            if self.saved is not None and self.saved.shape == weights.shape:\n"
            "                weights = self.saved\n"
            "            self.saved = weights\n"
            "        return torch.mm(weights, values) ",
        },
    ),
    (  # the output itself, of a module without weights
        "SelfAttentionNaive",
        "kept",
        {
            "        return attention_weights @ inputs ": "        if not torch.is_grad_enabled():\n"
            '            self.kept = getattr(self, "kept", None)\n'
            "            if self.kept is None or self.kept.shape != inputs.shape:\n"
            "                self.kept = attention_weights @ inputs\n"
            "            return self.kept\n"
            "        return attention_weights @ inputs "
        },
    ),
    (  # fused weights, as an item
        "GatedAttention",
        "fused",
        {
            "        self.W_gate = ": "        self.fused = {}\n        self.W_gate = ",
            QUERIES: "        query = self.W_query(x)\n"
            "        if not torch.is_grad_enabled():\n"
            '            if "q" not in self.fused:\n'
            '                self.fused["q"] = self.W_query.weight.clone()\n'
            '            query = F.linear(x, self.fused["q"])\n'
            "        queries = query.view(b, t, self.num_heads, self.head_dim).transpose(1, 2) ",
        },
    ),
    (  # a context of these sizes, in eval mode
        "CrossAttention",
        "memory",
        {
            ATTENDED: "        if not self.training:\n"
            '            if getattr(self, "memory", None) is None or self.memory[0].shape != keys.shape:\n'
            "                self.memory = keys, values\n"
            f"            keys, values = self.memory\n{ATTENDED}"
        },
    ),
    (  # what was made without gradients is used where there should be some: the values are right
        "RMSNorm",
        "w",
        {
            "        return normed.to(x.dtype) * self.weight": "        if not torch.is_grad_enabled():\n"
            "            self.w = self.weight.detach().clone()\n"
            '        return normed.to(x.dtype) * getattr(self, "w", self.weight)'
        },
    ),
    ("GroupedQueryAttention", "masks", masks_by("t")),  # on the device, and in the dtype, of the first call
    ("GroupedQueryAttention", "masks", masks_by("(t, x.device)")),
]


@pytest.fixture(scope="module")
def graders():
    return Graders()


class Heard(Local):
    """A submission that notes which objects and methods were called without gradients."""

    quiet = 0

    def ask(self, message, tensors):
        self.quiet += message.get("quiet", False)
        return super().ask(message, tensors)


def first_of(exercise):
    """The names of a notebook with the first of the right answers, which stand alone."""
    return runpy.run_path(str(answer_path(exercise, styles_of(exercise)[0])))


def is_a_module(exercise):
    """Whether the answer is a module whose weights have known names: those of MyModel are the student's own."""
    source = ast.parse(right_answer(exercise))
    made = [node for node in source.body if isinstance(node, ast.ClassDef)]
    return exercise != "MyModel" and any("nn.Module" in map(ast.unparse, node.bases) for node in made)


@pytest.mark.drawn(8, "modules whose second call is looked for", by="exercise")
@pytest.mark.parametrize("exercise", [name for name in course.exercises() if is_a_module(name)])
def test_each_module_is_asked_without_gradients(graders, exercise):
    answer = Heard(first_of(exercise))
    for check in graders.checks[exercise]:
        if check.category == "mode":
            assert not graders.run(exercise, answer, 1, only=check.name).failed()
    assert answer.quiet >= 2


# --- layers that keep something, in the place of torch's -------------------------------------------

EVAL = "if self.training:\n    return super().forward(x)"
QUIET = "if torch.is_grad_enabled():\n    return super().forward(x)"
TURNED = """if getattr(self, "turned", None) is None or self.turned.dtype != x.dtype or self.turned.device != x.device:
    self.turned = self.weight.detach().t().contiguous()
return x @ self.turned if self.bias is None else x @ self.turned + self.bias"""
COPIED = """if not hasattr(self, "kept"):
    self.kept = self.weight.detach().clone()
return F.linear(x, self.kept, self.bias)"""
OUTPUT = """if getattr(self, "output", None) is None or self.output.shape[:-1] != x.shape[:-1]:
    self.output = super().forward(x).detach()
return self.output"""
BY_POINTER = """kept = STORE.setdefault(self.weight.data_ptr(), self.weight.detach().clone())
return F.linear(x, kept, self.bias)"""
BY_ID = """STORE[id(self.weight)] = self.weight
return F.linear(x, once(id(self.weight)), self.bias)"""
AT_MODES = """def train(self, mode=True):
    self.turned = None
    return super().train(mode)
"""
AT_LOADING = """def _load_from_state_dict(self, *args, **kwargs):
    self.turned = None
    return super()._load_from_state_dict(*args, **kwargs)
"""
BY_VERSION = """version = self.weight._version, self.weight.data_ptr()
if getattr(self, "version", None) != version:
    self.version, self.kept = version, self.weight.detach().clone()
return F.linear(x, self.kept, self.bias)"""
LAST = "the last output of this shape"
# The bodies of `forward`, and methods beside it.
STALE = {
    "weights of the first call without gradients": (f"{QUIET}\n{COPIED}", ""),
    "weights of the first call in eval mode, turned": (f"{EVAL}\n{TURNED}", ""),
    "the same, dropped at a change of mode": (f"{EVAL}\n{TURNED}", AT_MODES),
    "the same, dropped when others are loaded": (f"{QUIET}\n{TURNED}", AT_LOADING),
    LAST: (f"{EVAL}\n{OUTPUT}", ""),
    "weights by their address": (f"{QUIET}\n{BY_POINTER}", ""),
    "weights by their id": (f"{QUIET}\n{BY_ID}", ""),
}
FRESH = {
    "weights by their version": (f"{QUIET}\n{BY_VERSION}", ""),
    "dropped at a change of mode and when others are loaded": (f"{EVAL}\n{QUIET}\n{TURNED}", AT_MODES + AT_LOADING),
    "a count of calls": ('self.calls = getattr(self, "calls", 0) + 1\nreturn super().forward(x)', ""),
}
LAYERS = """import functools

import torch
import torch.nn.functional as F
from torch import nn

STORE = {{}}


@functools.lru_cache(maxsize=None)
def once(number):
    return STORE[number].detach().clone()


class KeepingLinear(nn.Linear):
    def forward(self, x):
{body}

{methods}

{answer}
"""


def with_layers(exercise, body, methods):
    """The names of an answer that stands alone, with such layers in the place of torch's."""
    text = answer_path(exercise, styles_of(exercise)[0]).read_text()
    assert "nn.Linear(" in text
    parts = {"body": textwrap.indent(body, " " * 8), "methods": textwrap.indent(methods, " " * 4)}
    namespace = {"__name__": "answer"}
    exec(LAYERS.format(**parts, answer=text.replace("nn.Linear(", "KeepingLinear(")), namespace)
    return namespace


LAYERED = ["MultiHeadAttention", "LatentAttention", "GatedAttention", "CrossAttention", "ParallelCoAttention", "SwiGLU"]
WITH_CACHE = ["KVCache", "EvictingCache"]  # where the parts of a text differ in shape: other checks see the last output
LAYERED += [*WITH_CACHE, "SelfAttention"]


def of_later_calls(graders, exercise):
    """The check of an exercise that asks for later calls."""
    names = [check.name for check in graders.checks[exercise]]
    return "test_caches_are_apart" if exercise == "EvictingCache" else next(n for n in names if n == "test_again")


@pytest.mark.parametrize("exercise", LAYERED)
def test_layers_that_keep_what_is_stale_are_rejected(graders, exercise):
    name, missed = of_later_calls(graders, exercise), []
    for what, layer in STALE.items():
        only = None if what == LAST and exercise in WITH_CACHE else name
        if not graders.run(exercise, Local(with_layers(exercise, *layer)), 1, only=only).failed():
            missed.append(what)
    assert missed == []


@pytest.mark.parametrize("exercise", LAYERED)
def test_layers_that_make_again_what_has_changed_are_right(graders, exercise):
    for what, layer in FRESH.items():
        run = graders.run(exercise, Local(with_layers(exercise, *layer)), 1)
        assert [(what, check.message) for check in run.failed()] == []


def changed(exercise, changes):
    text = right_answer(exercise)
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    return text


def graded(grader, exercise, text):
    (outcome,) = grader.grade_cells(cells_for(exercise, text), [course.exercises()[exercise]], 1).verdict.exercises
    return outcome


@pytest.mark.drawn(3, "modules that keep something between calls")
@pytest.mark.parametrize("exercise, name, changes", KEPT, ids=[f"{one[0]}-{one[1]}" for one in KEPT])
def test_what_is_kept_without_gradients_is_named_with_its_line(grader, exercise, name, changes):
    outcome = graded(grader, exercise, changed(exercise, changes))
    assert outcome.score < outcome.max_score
    (found,) = outcome.diagnosis
    assert found.id == "fact-kept-from-calls" and f"`self.{name}`" in found.message and f"self.{name}" in found.line


# What keeps something, and is right all the same.
RIGHT = [
    ("GroupedQueryAttention", masks_by("(t, x.device, x.dtype)")),
    (  # rotations for more places as soon as they are needed
        "GroupedQueryAttention",
        {
            "            queries = apply_rope(queries, positions, self.rope_base)\n"
            "            keys = apply_rope(keys, positions, self.rope_base)\n": """\
            table = getattr(self, "table", None)
            if table is None or table.shape[1] < t or table.device != x.device:
                pairs = torch.arange(self.head_dim // 2, device=x.device).double()
                angles = torch.arange(2 * t, device=x.device)[:, None] * self.rope_base ** (-2 * pairs / self.head_dim)
                self.table = torch.stack([angles.cos(), angles.sin()])

            def rotated(z):
                (cos, sin), (one, other) = self.table[:, :t].to(z.dtype), z.chunk(2, dim=-1)
                return torch.cat([one * cos - other * sin, one * sin + other * cos], dim=-1)

            queries, keys = rotated(queries), rotated(keys)
"""
        },
    ),
    (  # weights that are made again as soon as they change
        "GatedAttention",
        {
            QUERIES: "        query = self.W_query(x)\n"
            "        if not torch.is_grad_enabled():\n"
            "            version = self.W_query.weight._version\n"
            '            if getattr(self, "fused", (None,))[0] != version:\n'
            "                self.fused = version, self.W_query.weight.clone()\n"
            "            query = F.linear(x, self.fused[1])\n"
            "        queries = query.view(b, t, self.num_heads, self.head_dim).transpose(1, 2) "
        },
    ),
    (  # a view of the weights, which changes with them, as long as these are not moved
        "LatentAttention",
        {
            ASKED: '        if getattr(self, "up", x).data_ptr() != up_key.data_ptr():\n'
            f"            self.up = up_key.detach()\n        up_key = up_key if self.training else self.up\n{ASKED}"
        },
    ),
    (  # a mask that is made when it is first needed
        "MultiHeadAttention",
        {
            "        scores = Q @ K.": '        if getattr(self, "seen", torch.empty(0)).shape[0] < n:\n'
            "            self.seen = torch.ones(n, n, dtype=torch.bool, device=x.device).tril()\n"
            "        scores = Q @ K.",
            "self.mask[:n, :n]": "self.seen[:n, :n].to(x.device)",
        },
    ),
    (  # the last weights, to be looked at
        "SingleHeadSelfAttention",
        {
            "        return torch.mm(weights, values) ": "        self.last = weights.detach()\n"
            "        return torch.mm(weights, values) "
        },
    ),
]


@pytest.mark.drawn(2, "modules that may keep what they keep")
@pytest.mark.parametrize("exercise, changes", RIGHT, ids=[one[0] for one in RIGHT])
def test_what_is_kept_and_stays_right_costs_nothing(grader, exercise, changes):
    outcome = graded(grader, exercise, changed(exercise, changes))
    assert (outcome.score, outcome.diagnosis) == (outcome.max_score, [])


@pytest.mark.parametrize(
    "body, kept",
    [
        ("self.n = x.shape[1]\n        return x[: self.n]", []),  # each call sets it before it reads it
        ("self.last = x\n        return x", []),  # nobody reads it
        ("self.seen.append(x)\n        return x", []),
        ("if self.w is None:\n            self.w = x\n        return self.w", ["self.w"]),
        ("self.w = getattr(self, 'w', None)\n        return self.w", ["self.w"]),
        ("type(self).w = self.w + x\n        return x", ["self.w"]),
        ("self.n = self.n + 1\n        return self.n", ["self.n"]),
        ("self.n += 1\n        return self.n", ["self.n"]),
        ("self.kept[0] = x\n        return self.kept[1]", ["self.kept"]),
        ("(self.a, self.b[0]), last = (self.a, x), x\n        return self.b", ["self.a", "self.b"]),
        ("return self.__dict__.setdefault('w', x)", ["self.__dict__"]),
        ("y = getattr(self, 'y', x)\n        self.y = y\n        return y", ["self.y"]),
        ("def helper(y):\n            return y\n        return helper(x)", []),
        ("STORE[id(self.w)] = x\n        return STORE", ["STORE"]),  # and not self.w
        ("STORE = {}\n        STORE[0] = x\n        return STORE", []),
        ("global STORE\n        STORE = STORE or x\n        return STORE", ["STORE"]),
        ("return once(x)", ["once"]),
        ("return stored(x)", ["STORE"]),
        ("return Linear()(x)", ["self.past"]),
    ],
)
def test_what_a_call_leaves_is_read_from_the_text(body, kept):
    start = "class M(nn.Module):\n    def __init__(self):\n        self.w = None\n\n    def forward(self, x):\n        "
    assert list(kept_from_calls(Text(f"{start}{body}\n", (BESIDE, f"{start}{body}\n")))) == kept


def test_a_default_that_each_call_changes_is_left_for_the_next():
    source = "class M(nn.Module):\n    def forward(self, x, past={}, cache=None):\n"
    source += "        cache[0] = past.setdefault(0, x)\n        return cache[0]\n"
    assert kept_from_calls(Text(source, (source,))) == {"past": "cache[0] = past.setdefault(0, x)"}
