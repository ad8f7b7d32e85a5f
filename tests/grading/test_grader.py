"""Grading through the sandbox: honest notebooks in every state."""

import re

import pytest
from conftest import ROOT, cell_of, hand_in, load

from autograder import course
from autograder.errors import GraderError
from autograder.grading import workspace as workspaces
from autograder.grading.blame import is_lost
from autograder.grading.grader import cells_of
from autograder.grading.workspace import Deadline, OutOfTime, Workspace
from autograder.lazily import Lazily
from autograder.mistakes import repair
from autograder.mistakes.bank import bank
from autograder.submission.read import read_file
from autograder.submission.restore import RestoredCell
from autograder.verdict import Outcome

ATTENTION = ROOT / "autograder" / "exercises" / "attention" / "answers"


def code(source):
    return {"cell_type": "code", "id": f"own-{abs(hash(source))}", "metadata": {}, "outputs": [], "source": source}


def test_later_experiments_do_not_replace_the_answer(grader, solution, tmp_path):
    solution["cells"].append(code("def attention(query, key, value, mask=None):\n    return None"))
    assert grader.grade_file(hand_in(solution, tmp_path)).verdict.full


def test_an_answer_below_its_test_counts(grader, solution, tmp_path):
    cell = cell_of(solution, "attention-solution")
    solution["cells"].append(code("".join(cell["source"])))
    cell["source"] = "# see below"
    assert grader.grade_file(hand_in(solution, tmp_path)).verdict.full


def test_feedback_gets_the_outputs(grader, solution, tmp_path):
    solution["cells"].append(code("print('seen')\nimport matplotlib.pyplot as plt\nplt.plot([1, 2])"))
    graded = grader.grade_file(hand_in(solution, tmp_path))
    outputs = graded.outputs[len(graded.cells) - 1]
    assert outputs[0]["text"] == "seen\n"
    assert any("image/png" in o.get("data", {}) for o in outputs)


def test_every_run_draws_new_inputs(grader, solution, tmp_path):
    path = hand_in(solution, tmp_path)
    assert grader.grade_file(path).verdict.seed != grader.grade_file(path).verdict.seed


@pytest.mark.parametrize("uses_it", [True, False])
def test_what_an_exercise_stands_on_is_named_first(grader, tmp_path, uses_it):
    """A wrong `attention` from lesson 02 is named before what follows from it, where it is used."""
    name = "03_causal_attention"
    notebook = load(ROOT / "solutions" / name / f"{name}.ipynb")
    base = cell_of(notebook, "attention-yours")
    right = "".join(base["source"])
    base["source"] = right.replace("scaled_query = query / key.shape[-1] ** 0.5", "scaled_query = query")
    assert base["source"] != right
    if not uses_it:
        cell_of(notebook, "CausalAttention-solution")["source"] = (
            '"""Not attention."""\n'
            + (ROOT / "autograder" / "exercises" / "CausalAttention" / "answers" / "loops.py").read_text()
        )
    verdict = grader.grade_file(hand_in(notebook, tmp_path, f"{name}.ipynb"), "CausalAttention").verdict
    (outcome,) = verdict.exercises
    if uses_it:
        assert outcome.score < outcome.max_score and outcome.diagnosis[0].id == "stands-on-attention"
    else:
        assert outcome.score == outcome.max_score and not outcome.diagnosis


@pytest.mark.parametrize("behind", [0, 5], ids=["above", "below"])
def test_an_answer_beside_the_released_stub_is_told_which_one_counts(grader, release, solution, tmp_path, behind):
    own = {"cell_type": "code", "id": "own", "metadata": {}, "outputs": [], "execution_count": None}
    own["source"] = cell_of(solution, "attention-solution")["source"]
    stub = cell_of(release, "attention-solution")
    release["cells"].insert(release["cells"].index(stub) + behind, own)
    outcome = grader.grade_file(hand_in(release, tmp_path), "attention").verdict.exercise("attention")
    (named,) = outcome.diagnosis
    code = [c for c in release["cells"] if c["cell_type"] == "code"]
    counts, written = (f"code cell {code.index(cell) + 1}" for cell in (stub, own))
    assert outcome.score == 0 and not outcome.not_started and named.id == "defined-twice"
    assert f"as {counts} defines it, and that is not written yet: move your code from {written} there" in named.message


@pytest.mark.parametrize("touched", [False, True])
def test_an_original_that_stops_before_it_is_defined_is_not_started_until_it_is_written_on(grader, tmp_path, touched):
    """As published, `SelfAttentionWide` stops at its `class` line; so does what a student has begun to change in it."""
    name = "04_multi_head_attention"
    notebook = load(ROOT / "release" / name / f"{name}.ipynb")
    if touched:
        cell = cell_of(notebook, "SelfAttentionWide-solution")
        cell["source"] = "".join(cell["source"]).replace("super", "super  # it is called")
    graded = grader.grade_file(hand_in(notebook, tmp_path, f"{name}.ipynb"), "SelfAttentionWide")
    (outcome,) = graded.verdict.exercises
    assert outcome.score == 0 and outcome.status == "error" and "AttributeError" in outcome.message
    assert outcome.not_started is not touched


LESSON = "03_causal_attention"
INVERTED = "def causal_mask(t, device=None):\n    return torch.ones(t, t, dtype=torch.bool, device=device).triu(1)\n"
SPY = """def masked_weights(query, key):
    open("seen.txt", "a").write(str(causal_mask.__doc__))
    hidden = (query @ key.transpose(-2, -1)).masked_fill(~causal_mask(query.shape[1]), float("-inf"))
    return F.softmax(hidden, dim=-1)
"""


@pytest.fixture
def forks(grader, monkeypatch):
    """The children that the grader asks for, as they come."""
    made, fork = [], grader.parent.fork

    def noted():
        made.append(fork())
        return made[-1]

    monkeypatch.setattr(grader.parent, "fork", noted)
    return made


@pytest.fixture
def inverted():
    """The solution of lesson 03 with a mask that hides what it should show."""
    notebook = load(ROOT / "solutions" / LESSON / f"{LESSON}.ipynb")
    cell_of(notebook, "causal_mask-solution")["source"] = INVERTED
    return notebook


def named(verdict):
    return {outcome.exercise: [d.id for d in outcome.diagnosis] for outcome in verdict.exercises if outcome.diagnosis}


def graded_alone(grader, notebook, folder, *exercises):
    """The verdict on a notebook of lesson 03, for which no child is forked but those that it needs itself."""
    cells = cells_of(read_file(hand_in(notebook, folder, f"{LESSON}.ipynb")))
    wanted = [course.exercises(ROOT)[name] for name in exercises]
    return grader.grade_cells(cells, wanted, 7, alone=True).verdict


def test_what_an_exercise_stands_on_is_found_by_one_child(grader, inverted, forks, tmp_path):
    found = named(graded_alone(grader, inverted, tmp_path, "causal_mask", "masked_weights", "Head", "CausalAttention"))
    assert found["masked_weights"][0] == found["CausalAttention"][0] == "stands-on-causal_mask"
    assert len(forks) == 1


def test_what_its_only_wrong_base_leaves_wrong_is_named_without_another_run(grader, inverted, tmp_path, monkeypatch):
    cell = cell_of(inverted, "masked_weights-solution")
    right = "".join(cell["source"])
    assert right.count("dim=-1)") == 1
    cell["source"] = right.replace("dim=-1)", "dim=-1).detach()")
    ran, run = [], grader.graders.run

    def noted(exercise, where, *given, **options):
        if isinstance(where, Workspace):
            ran.append(exercise)
        return run(exercise, where, *given, **options)

    monkeypatch.setattr(grader.graders, "run", noted)
    found = named(graded_alone(grader, inverted, tmp_path, "causal_mask", "masked_weights"))["masked_weights"]
    assert found == ["stands-on-causal_mask", "weights-detached"]
    assert ran.count("masked_weights") == 2  # as it is, and with a right base


def test_what_follows_from_a_base_is_paid_at_the_base(grader, inverted, tmp_path):
    verdict = graded_alone(grader, inverted, tmp_path, "causal_mask", "masked_weights", "CausalAttention")
    base, *others = verdict.exercises
    assert 0 < base.by_prices < base.max_score
    assert [one.by_prices for one in others] == [one.max_score for one in others]
    assert all(one.score < one.max_score for one in others)


RANDOM = "def causal_mask(t, device=None):\n    return torch.rand(t, t) < 0.6\n"


@pytest.mark.parametrize("base", [INVERTED, RANDOM], ids=["half", "lost"])
def test_what_does_right_only_beside_a_solution_is_paid_itself(grader, inverted, tmp_path, base):
    """It does not do what a right answer does on such a base; but where the base got nothing, nothing shows that."""
    cell_of(inverted, "causal_mask-solution")["source"] = base
    right = "".join(cell_of(inverted, "masked_weights-solution")["source"])
    waits = "    if not causal_mask(2)[0, 0]:\n        return query @ key.transpose(-2, -1)\n"
    head, body = right.split(":\n", 1)
    cell_of(inverted, "masked_weights-solution")["source"] = f"{head}:\n{waits}{body}"
    verdict = graded_alone(grader, inverted, tmp_path, "causal_mask", "masked_weights")
    mask, outcome = verdict.exercises
    assert outcome.diagnosis[0].id == "stands-on-causal_mask"
    assert outcome.by_prices == (outcome.max_score if mask.by_prices == 0 else 0)
    assert (mask.by_prices == 0) == (base is RANDOM)


SLIP = """def causal_mask(t, device=None):
    spots = torch.arange(t, device=device)
    return 2 * spots[:, None] >= spots
"""
BESIDE_ONE_S_OWN = "    if 'spots' in causal_mask.__code__.co_varnames:\n        return query @ key.mT\n"


@pytest.mark.parametrize("is_right", [True, False])
def test_what_is_right_on_a_base_with_its_one_edit_is_paid_at_the_base(grader, inverted, tmp_path, is_right):
    """Nobody knows what the base does, but one number in it makes it right, and then its dependent is: or is not."""
    cell_of(inverted, "causal_mask-solution")["source"] = SLIP
    cell = cell_of(inverted, "masked_weights-solution")
    if not is_right:
        head, body = "".join(cell["source"]).split(":\n", 1)
        cell["source"] = f"{head}:\n{BESIDE_ONE_S_OWN}{body}"
    base, other = graded_alone(grader, inverted, tmp_path, "causal_mask", "masked_weights").exercises
    assert base.diagnosis[0].id == repair.ID and 0 < base.by_prices < base.max_score
    assert other.diagnosis[0].id == "stands-on-causal_mask" and other.score < other.max_score
    assert other.by_prices == (other.max_score if is_right else 0)


ONLY_ON_META = """def causal_mask(t, device=None):
    return torch.ones(t + (str(device) == "meta"), t, dtype=torch.bool, device=device).tril()
"""


def test_what_a_base_does_not_make_wrong_is_not_paid_there(grader, inverted, tmp_path):
    """A slip that costs a tenth of the base is no second try for what asks whether it is there."""
    cell_of(inverted, "causal_mask-solution")["source"] = ONLY_ON_META
    cell = cell_of(inverted, "masked_weights-solution")
    head, body = "".join(cell["source"]).split(":\n", 1)
    wrong = "    if causal_mask(2, device='meta').shape[0] != 2:\n        return query\n"
    cell["source"] = f"{head}:\n{wrong}{body}"
    base, other = graded_alone(grader, inverted, tmp_path, "causal_mask", "masked_weights").exercises
    assert base.diagnosis[0].id == repair.ID and base.by_prices > base.by_checks
    assert other.diagnosis[0].id == "stands-on-causal_mask" and other.by_prices == 0


def test_a_fresh_child_finds_the_same_where_something_may_be_kept(grader, inverted, forks, tmp_path):
    """A cached mask would still be the wrong one."""
    cell = cell_of(inverted, "masked_weights-solution")
    cached = "import functools\n\n@functools.lru_cache\ndef mask_of(t):\n    return causal_mask(t)\n\n\n"
    cell["source"] = cached + "".join(cell["source"]).replace(
        "causal_mask(query.shape[1], device=query.device)", "mask_of(query.shape[1])"
    )
    assert "mask_of(query" in cell["source"]
    found = named(graded_alone(grader, inverted, tmp_path, "masked_weights"))
    assert found["masked_weights"][0] == "stands-on-causal_mask" and len(forks) > 1


def test_nothing_is_graded_where_a_solution_can_be_read(grader, inverted, tmp_path):
    """What a spy has written down is shown by no exercise, neither in the first child nor in another one."""
    cell_of(inverted, "masked_weights-solution")["source"] = SPY
    cell_of(inverted, "Head-solution")["source"] = (
        "class Head(nn.Module):\n"
        "    def __init__(self, *sizes):\n"
        "        raise ValueError(open('seen.txt').read()[-200:])\n"
    )
    verdict = grader.grade_file(hand_in(inverted, tmp_path, f"{LESSON}.ipynb"), None, 7).verdict
    assert "stands-on-causal_mask" in named(verdict)["masked_weights"]
    told = " ".join(check.message for check in verdict.exercise("Head").checks)
    assert "NoneNone" in told and "attend" not in told


GRADED = {"causal_mask": Outcome("causal_mask", 0, 4, "graded")}
NOT_LOST = {
    "not graded with it": {},
    "of another assignment": {"softmax": Outcome("softmax", 0, 4, "graded")},
    "that nobody has to use": {"padding_mask": Outcome("padding_mask", 0, 4, "graded")},
    "with points": {"causal_mask": Outcome("causal_mask", 1, 4, "graded")},
    "with points by prices": {"causal_mask": Outcome("causal_mask", 0, 4, "graded", by_prices=2.4)},
    "worth nothing": {"causal_mask": Outcome("causal_mask", 0, 0, "graded")},
    "not judged": {"causal_mask": Outcome("causal_mask", 0, 4, "graded", unjudged="a wrong check")},
}


@pytest.mark.parametrize("graded", NOT_LOST.values(), ids=NOT_LOST)
def test_only_who_loses_the_points_of_a_base_has_paid_for_it(grader, graded):
    workspace = Workspace(grader.parent, [])
    workspace.graded = GRADED
    assert is_lost(workspace, "causal_mask", "masked_weights")
    workspace.graded = graded
    assert not any(is_lost(workspace, base, "masked_weights") for base in ("causal_mask", "padding_mask", "softmax"))


def test_what_is_wrong_and_cannot_be_told_beside_a_lost_base_is_not_given_away(grader, inverted, tmp_path):
    """What a fact says of an answer beside a solution may be the solution's words: it is not said, and still costs."""
    cell_of(inverted, "causal_mask-solution")["source"] = "def causal_mask(t, device=None):\n    pass\n"
    cell = cell_of(inverted, "masked_weights-solution")
    right = "".join(cell["source"])
    assert right.count("return F.softmax") == 1
    cell["source"] = right.replace("return F.softmax", "return 2 * F.softmax")
    mask, weights = graded_alone(grader, inverted, tmp_path, "causal_mask", "masked_weights").exercises
    assert mask.by_checks == 0 and weights.diagnosis[0].id == "stands-on-causal_mask" and weights.by_prices == 0


def test_what_a_helper_in_another_cell_stands_on_is_found(grader, inverted, tmp_path):
    own = {"cell_type": "code", "id": "own", "metadata": {}, "outputs": [], "execution_count": None}
    own["source"] = "def allowed(query):\n    return causal_mask(query.shape[1], device=query.device)"
    cell = cell_of(inverted, "masked_weights-solution")
    inverted["cells"].insert(inverted["cells"].index(cell), own)
    right = "".join(cell["source"])
    cell["source"] = right.replace("causal_mask(query.shape[1], device=query.device)", "allowed(query)")
    assert "allowed(query)" in cell["source"]
    verdict = graded_alone(grader, inverted, tmp_path, "causal_mask", "masked_weights")
    outcome = verdict.exercise("masked_weights")
    assert named(verdict)["masked_weights"] == ["stands-on-causal_mask"] and outcome.by_prices == outcome.max_score


USES = {
    "itself": ("def Head():\n    return attend()", {"attend"}),
    "by a helper": ("def Head():\n    return one()\n\none = lambda: attend()", {"one", "attend"}),
    "by what it inherits": ("class Head(Base):\n    pass", {"Base", "mask"}),
    "wrapped afterwards": ("def Head():\n    return mask()\n\nHead = noted(Head)", {"mask", "noted", "Head"}),
    "bound again": ("class Head:\n    to = mask\n\nclass Head(Head):\n    pass", {"mask", "Head"}),
    "if one of two is defined": ("try:\n    Head = lambda: mask(0)\nexcept E:\n    Head = lambda: 0", {"Head", "mask"}),
    "by default": ("def Head(attend=attend):\n    return attend()", {"attend"}),
    "in one method": (
        "class Head:\n    def a(self):\n        return mask()\n    def b(self):\n        mask = 1\n        return mask",
        {"mask"},
    ),
    "by a table": ("def Head():\n    return PARTS['one']()", {"PARTS", "Base", "mask"}),
    "set later": (
        "def Head():\n    return 1\n\nsetattr(Head, 'to', mask)\nHead.of = attend",
        {"setattr", "Head", "mask", "attend"},
    ),
    "beside it": ("def Head():\n    return 1\n\ndef other():\n    return attend()", set()),
    "in a cell that runs it": ("def Head():\n    return 1\n\nprint(Head(attend))", {"print", "Head", "attend"}),
    "with a variable of another cell's name": ("def Head(x):\n    shown = x\n    return shown", set()),
    "in no Python": ("def Head(:", set()),
}


@pytest.mark.parametrize("text, used", USES.values(), ids=USES)
def test_an_answer_uses_what_it_reaches(grader, text, used):
    others = [
        "class Base:\n    def mask(self, t):\n        return mask(t)",
        "PARTS = {}\nfor shown in attend(2):\n    print(shown)",
        "PARTS['one'] = Base",
    ]
    workspace = Workspace(grader.parent, [RestoredCell("code", source, "") for source in (*others, text)])
    assert workspace.names_used_by("Head") == used


def test_a_child_that_has_seen_a_solution_grades_nothing_more(grader, inverted, tmp_path):
    cells = cells_of(read_file(hand_in(inverted, tmp_path, f"{LESSON}.ipynb")))
    workspace = Workspace(grader.parent, cells)
    try:
        workspace.begin_exercise()
        first = workspace.child
        with workspace.with_right(["causal_mask"], "masked_weights") as mended:
            assert mended.child is first and not grader.graders.run("causal_mask", mended, 7).failed()
        assert workspace.child is first and grader.graders.run("causal_mask", workspace, 7).failed()
        workspace.begin_exercise()
        assert workspace.child is not first
    finally:
        workspace.close()


def fails(*_):
    raise GraderError("exercises/attention/checks.py cannot be imported: ValueError: no")


def test_checks_that_cannot_be_imported_are_an_error_of_the_course(grader, monkeypatch):
    """Not a grade, and not "internal error": the sentence says which file to fix."""
    monkeypatch.setattr(grader.graders, "checks", Lazily(["attention"], fails))
    with pytest.raises(GraderError, match="exercises/attention/checks.py"):
        grader.grade_file(min(ATTENTION.glob("*.py")), "attention")


def test_mistakes_that_cannot_be_imported_cost_only_their_names(grader, inverted, tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(grader.diagnostician, "diagnose", fails)
    verdict = grader.grade_file(hand_in(inverted, tmp_path, f"{LESSON}.ipynb"), "causal_mask", 7).verdict
    (outcome,) = verdict.exercises
    assert outcome.status == "graded" and outcome.checks and not outcome.diagnosis
    assert caplog.messages == [f"no mistakes are named: {pytest.raises(GraderError, fails).value}"]


@pytest.mark.parametrize(
    "last",
    [
        "    if query.requires_grad:\n        causal_mask(2.5)\n",  # an honest error in a line of the solution
        "    if query.requires_grad and seen[0, 0]:\n"
        "        import linecache\n"
        "        cell = masked_weights.__code__.co_filename\n"
        "        linecache.cache[cell] = 9, None, ['SECRET = x.view(4)\\n'], cell\n"
        "        text = 'raise RuntimeError(\"view size is not compatible with input tensor\\'s size and stride\")'\n"
        "        exec(compile(text, cell, 'exec'))\n",
    ],
    ids=["honest", "forged"],
)
def test_no_line_of_a_solution_is_told_as_the_student_s_own(grader, inverted, tmp_path, last):
    """Where the right helper stands in for theirs, an error may come from its text, or quote it."""
    cell_of(inverted, "masked_weights-solution")["source"] = (
        "def masked_weights(query, key):\n"
        "    if query.dim() != 3 or key.dim() != 3:\n        raise ValueError\n"
        "    seen = causal_mask(query.shape[1], device=query.device)\n"
        f"{last}"
        "    hidden = (query @ key.transpose(-2, -1)).masked_fill(~seen, float('-inf'))\n"
        "    return F.softmax(hidden, dim=-1)\n"
    )
    verdict = grader.grade_file(hand_in(inverted, tmp_path, f"{LESSON}.ipynb"), "masked_weights", 7).verdict
    (outcome,) = verdict.exercises
    assert outcome.diagnosis[0].id == "stands-on-causal_mask"
    written = "\n".join("".join(cell["source"]) for cell in inverted["cells"])
    assert all(one.line in written for one in outcome.diagnosis), outcome.diagnosis


@pytest.fixture
def without_parts():
    """Lesson 09 with its first exercise solved, whose parts of lesson 08 were never brought."""
    name = "09_long_texts"
    notebook = load(ROOT / "release" / name / f"{name}.ipynb")
    right = load(ROOT / "solutions" / name / f"{name}.ipynb")
    cell_of(notebook, "KVCache-solution")["source"] = cell_of(right, "KVCache-solution")["source"]
    return notebook


def test_parts_that_a_notebook_does_not_bring_are_lent_and_it_is_said(grader, without_parts, tmp_path):
    path = hand_in(without_parts, tmp_path, "09_long_texts.ipynb")
    outcome = grader.grade_file(path, "KVCache").verdict.exercise("KVCache")
    (said,) = outcome.diagnosis
    assert outcome.full and outcome.by_checks == outcome.score and said.id == "stands-on-earlier-parts"
    assert said.message.startswith("Your notebook does not bring `RMSNorm`, `apply_rope` of earlier ones.")


def test_of_what_happens_beside_a_lent_part_nothing_is_said(grader, without_parts, tmp_path):
    """It can read the course's own: so only which checks pass is kept, and no word of what it says."""
    cell = cell_of(without_parts, "KVCache-solution")
    spy = '        if cache is not None and "apply_rope" in globals():\n'
    spy += "            raise ValueError(apply_rope.__doc__)\n"
    source = "".join(cell["source"])
    before = "        b, t, _ = x.shape\n"
    assert source.count(before) == 1
    cell["source"] = source.replace(before, before + spy)
    path = hand_in(without_parts, tmp_path, "09_long_texts.ipynb")
    verdict = grader.grade_file(path, "KVCache").verdict
    outcome = verdict.exercise("KVCache")
    assert 0 < outcome.score < outcome.max_score
    assert "Turn each pair" not in verdict.to_json()


@pytest.fixture
def without_attention():
    """Lesson 03 solved, without the `attention` of lesson 02."""
    name = "03_causal_attention"
    notebook = load(ROOT / "solutions" / name / f"{name}.ipynb")
    cell_of(notebook, "attention-yours")["source"] = ""
    return notebook


def put_below(notebook, exercise, head, line):
    """Put a line below the `head` of a function in the answer to an exercise."""
    cell = cell_of(notebook, f"{exercise}-solution")
    (found,) = re.findall(rf"^( *){re.escape(head)}.*:\n", source := "".join(cell["source"]), re.MULTILINE)
    cell["source"] = re.sub(rf"^ *{re.escape(head)}.*:\n", rf"\g<0>{found}    {line}\n", source, flags=re.MULTILINE)


def test_parts_are_lent_in_one_more_process(grader, monkeypatch, without_attention, tmp_path):
    """Which of them are absent was seen before the checks: no process is started to ask for that."""
    forked, fork = [], grader.parent.fork
    monkeypatch.setattr(grader.parent, "fork", lambda: forked.append(1) or fork())
    verdict = grader.grade_file(hand_in(without_attention, tmp_path, "03_causal_attention.ipynb"), seed=1).verdict
    (said,) = verdict.exercise("CausalAttention").diagnosis
    assert verdict.full and said.id == "stands-on-earlier-parts" and "does not bring `attention`" in said.message
    assert len(forked) == 2


def test_no_answer_that_is_lent_parts_hears_what_candidates_have_told(grader, without_attention, tmp_path):
    put_below(without_attention, "CausalAttention", "def forward(", "assert 'told' not in globals()")
    put_below(without_attention, "check_causal", "def check_causal(", "globals()['told'] = candidate")
    assert grader.grade_file(hand_in(without_attention, tmp_path, "03_causal_attention.ipynb"), seed=1).verdict.full


def test_a_part_that_goes_in_a_call_is_no_absent_one(grader, without_attention, tmp_path):
    """What a notebook brings is what its cells define, whatever its code does under the checks."""
    cell_of(without_attention, "attention-yours")["source"] = "def attention(*args):\n    return args[2]"
    put_below(without_attention, "CausalAttention", "def forward(", "globals().pop('attention', None)")
    path = hand_in(without_attention, tmp_path, "03_causal_attention.ipynb")
    outcome = grader.grade_file(path, "CausalAttention", 1).verdict.exercise("CausalAttention")
    assert outcome.score < outcome.max_score
    assert "stands-on-earlier-parts" not in [one.id for one in outcome.diagnosis]


def make_wrong(notebook, exercise, mistake):
    cell_of(notebook, f"{exercise}-solution")["source"] = bank(exercise)[mistake].source


def test_no_diagnosis_hears_what_candidates_have_told(grader, solution, tmp_path):
    """A test may ask right answers. Else a wrong one could learn from it what the checks wanted, and say so now."""
    make_wrong(solution, "attention", "no-scale")
    for name, line in (("attention", "assert 'told' not in globals()"), ("check_attention", "globals()['told'] = 1")):
        cell = cell_of(solution, f"{name}-solution")
        head, body = "".join(cell["source"]).split(":\n", 1)
        cell["source"] = f"{head}:\n    {line}\n{body}"
    cells = cells_of(read_file(hand_in(solution, tmp_path)))
    verdict = grader.grade_cells(cells, course.find_assignment("02").exercises, 7, alone=True).verdict
    (found,) = verdict.exercise("attention").diagnosis
    assert found.id == "no-scale" and found.has_price and verdict.exercise("check_attention").full


@pytest.fixture
def searched(grader, monkeypatch):
    """The exercises whose mistakes are looked for. The first search takes all the time of the submission."""
    exercises = []

    def diagnose(run):
        exercises.append(run.exercise)
        raise OutOfTime(300.0)

    monkeypatch.setattr(grader.diagnostician, "diagnose", diagnose)
    monkeypatch.setattr(Deadline, "is_over", lambda deadline: bool(exercises))
    return exercises


@pytest.fixture
def ended(grader, monkeypatch):
    """The exercises that are diagnosed. Each search asks for something, which ends the last process that there may be.

    The next search is made without one, since it may do without asking.
    """
    exercises = []

    def diagnose(run):
        exercises.append(run.exercise)
        run.transport.ask({"op": "cell", "source": "import os\n\nos._exit(3)", "name": "code cell 1"}, [])

    monkeypatch.setattr(grader.diagnostician, "diagnose", diagnose)
    monkeypatch.setattr(workspaces, "MAX_RESTARTS", 0)
    return exercises


@pytest.mark.parametrize("end, many", [("searched", 1), ("ended", 2)])
def test_a_diagnosis_costs_names_alone(grader, solution, tmp_path, end, many, request):
    searched = request.getfixturevalue(end)
    make_wrong(solution, "SingleHeadSelfAttention", "rank-not-checked")
    make_wrong(solution, "attention", "no-scale")
    told = []
    cells = cells_of(read_file(hand_in(solution, tmp_path)))
    outcomes = grader.grade_cells(cells, course.find_assignment("02").exercises, 7, tell=told.append).verdict.exercises
    assert searched == ["SingleHeadSelfAttention", "attention"][:many]
    assert [one.status for one in outcomes] == ["graded"] * 4, outcomes
    assert [one.full for one in outcomes] == [False, True, False, True], outcomes
    wrong = outcomes[0], outcomes[2]
    assert all(0 < one.score == one.by_checks and not one.diagnosis for one in wrong), wrong
    assert told == [outcomes[1], outcomes[3], *wrong], "who is right is told first, and everybody once"


def test_a_diagnosis_that_takes_all_the_time_costs_no_points_for_lent_parts(grader, without_parts, searched, tmp_path):
    make_wrong(without_parts, "cached_attention", "no-scale")
    verdict = grader.grade_file(hand_in(without_parts, tmp_path, "09_long_texts.ipynb")).verdict
    assert searched == ["cached_attention"] and verdict.exercise("KVCache").full, verdict.exercises


@pytest.fixture
def nameless(grader, monkeypatch):
    """The grader, which names no mistake: a search through whole banks, where only what is graded is asked."""
    monkeypatch.setattr(grader.diagnostician, "diagnose", lambda run: [])
    return grader


def defining(*names, uses=""):
    """The text of a file that defines these, the last of which uses the names `uses`."""
    texts = [f"def {name}(*given):\n    return None\n" for name in names]
    return "\n".join(texts) + f"    {uses}\n"


@pytest.mark.parametrize(
    "defines, uses, graded",
    [
        (("KVCache", "softmax", "MyModel"), "KVCache(softmax)", ["MyModel"]),
        (("GroupedQueryAttention", "EvictingCache"), "", ["EvictingCache"]),
        (("softmax", "scores", "EvictingCache"), "softmax", ["softmax", "EvictingCache"]),
        (("RMSNorm", "apply_rope", "EvictingCache"), "RMSNorm, apply_rope", ["EvictingCache"]),
        (("RMSNorm", "apply_rope", "EvictingCache"), "RMSNorm", ["RMSNorm", "apply_rope", "EvictingCache"]),
        (("attention", "check_attention"), "attention", ["attention", "check_attention"]),
        (("attention",), "", ["attention"]),
    ],
)
def test_parts_that_a_lesson_brings_are_not_handed_in_with_it(nameless, tmp_path, defines, uses, graded):
    """A file is graded like that lesson's notebook: what it uses of earlier ones is often simpler than an answer."""
    path = tmp_path / "mine.py"
    path.write_text(defining(*defines, uses=uses))
    verdict = nameless.grade_file(path).verdict
    assert [outcome.exercise for outcome in verdict.exercises] == graded
    (alone,) = nameless.grade_file(path, defines[0]).verdict.exercises
    assert alone.exercise == defines[0]


def test_a_part_of_a_part_is_a_part(nameless, tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(defining("RMSNorm") + defining("Block", uses="RMSNorm") + defining("MyModel", uses="Block"))
    assert [outcome.exercise for outcome in nameless.grade_file(path).verdict.exercises] == ["MyModel"]
