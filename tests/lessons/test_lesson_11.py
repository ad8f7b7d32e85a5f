"""Lesson 11: what it says of blocks, of numbers that are moved and of tiles, checked against what its cells count."""

import contextlib
import io
import re
import warnings

import compiled
import pytest
import torch
from lessons import lesson, run

from autograder import course
from autograder.mistakes.bank import show_text

pytestmark = lesson("11")

triton = pytest.importorskip("triton", reason="lesson 11 needs Triton, which is not installed here")


@pytest.fixture(scope="module")
def ran():
    return run("11")


def found(ran, cell, pattern):
    """The groups of each match in what a cell printed; at least one."""
    groups = re.findall(pattern, ran.printed[cell])
    assert groups, f"{cell} printed no {pattern!r}: {ran.printed[cell]}"
    return groups


def number(text):
    return float(text.replace(",", ""))


def test_places_by_hand(ran):
    assert ran.says("Program 2 has the places 8, 9, 10 and 11, of which 11 is outside")
    x, out = torch.randn(11), torch.zeros(11)
    reads, writes = ran.values["watch"](ran.values["add_kernel"], (3,), x, x.clone(), out, 11, 4)
    assert reads[0][8:].tolist() == [1, 1, 1] and writes[2].sum() == 11
    assert ran.says("Row 2 begins at place 10, and the program's places are 10, 11, 12 and 13") and 2 * 5 == 10


def test_idle_places(ran):
    rows = {
        int(block): list(map(number, rest)) for block, *rest in found(ran, "add-look", r"(\d+) +" * 4 + r"(\S+) +(\S+)")
    }
    assert ran.says("two programs have 2,048 places, and 948 are idle. With 64 it is 52")
    assert rows[1024][:3] == [2, 2048, 948] and rows[64][2] == 52
    assert ran.says("2,200 numbers, two for each sum") and {tuple(row[3:]) for row in rows.values()} == {(2200, 1100)}


def test_what_an_h100_could_do_meanwhile(ran):
    assert ran.says("can do 20 float32 operations in the time in which it moves a byte (67 teraFLOPS, 3.35 TB/s)")
    assert 67 / 3.35 == pytest.approx(20) and 12 * 20 == 240 and 1 / 240 < 0.01


def test_five_steps_move_four_times_as_much(ran):
    ((times,),) = [found(ran, "softmax-look", r"five steps, (\S+) times")]
    assert ran.says("The five steps move four times as many numbers") and float(times) == pytest.approx(4, abs=0.1)
    assert f"one kernel moves {2 * 64 * 100:,}:" in ran.printed["softmax-look"]


def test_tiles_by_hand(ran):
    assert ran.says("Tiles that are loaded: 1 + 1 + 2 = 4 of 6")
    q, out, lse = torch.randn(1, 12, 16), torch.zeros(1, 12, 16), torch.zeros(1, 12)
    reads, _ = ran.values["watch"](
        ran.values["flash_kernel"], (3, 1), q, q.clone(), q.clone(), out, lse, 12, 0.25, True, 16, 4, 8
    )
    assert reads[1][0, ::8, 0].sum() == 4
    counted = found(ran, "flash-look", r"(\d+) of (\d+) tiles")
    assert counted == [("10", "16"), ("6", "8"), ("6", "8")]


def test_what_reaches_memory(ran):
    rows = found(ran, "bytes-look", r"(\d+)  (none|causal) +(\S+) +(\S+) +\S+")
    moved = {(int(t), mask): (number(plain), number(kernel)) for t, mask, plain, kernel in rows}
    grown = {mask: [moved[512, mask][way] / moved[128, mask][way] for way in (0, 1)] for mask in ("none", "causal")}
    assert ran.says("grow 15-fold") and grown["none"][0] == pytest.approx(15, abs=0.5)
    assert grown["causal"][0] == pytest.approx(15, abs=0.6)
    assert ran.says("the kernel's grow 12-fold, and 9-fold with the mask")
    assert grown["none"][1] == pytest.approx(12, abs=0.5) and grown["causal"][1] == pytest.approx(9, abs=0.5)
    (plain, kernel), (plain_causal, kernel_causal) = moved[512, "none"], moved[512, "causal"]
    assert ran.says("about as much again, 98 % at 512 tokens", "It saves the kernel 39 %", "here 9 of 16")
    assert round(100 * plain_causal / plain) == 198 and round(100 * kernel_causal / kernel) == 61
    assert (8 + 1) / (2 * 8) == 9 / 16 and 512 / 64 == 8
    assert ran.says("writes t · (D + 1) numbers in all") and 512 * 17 < kernel


def test_where_there_is_no_gpu_nothing_is_timed(ran):
    if ran.values["INTERPRETED"]:
        assert ran.printed["speed"].startswith("No GPU here")


KERNELS = ("add_kernel", "softmax_kernel", "flash_kernel")
compiles = pytest.mark.skipif(
    tuple(map(int, triton.__version__.split(".")[:2])) < (3, 3),
    reason="before Triton 3.3 its compiler is called in another way",
)


@compiles
def test_right_kernels_are_compiled_for_a_gpu_too(ran, tmp_path):
    """The lesson's own and the banks', by Triton's compiler, which needs no GPU to make a program for one."""
    lesson = tmp_path / "lesson.py"
    lesson.write_text("\n\n".join(ran.texts[f"{kernel}-solution"] for kernel in KERNELS))
    banks = [file for kernel in KERNELS for file in sorted((course.folder_of(kernel) / "answers").glob("*.py"))]
    assert len(banks) >= 2 * len(KERNELS) and compiled.errors(lesson, *banks) == []


@compiles
def test_a_kernel_that_only_the_interpreter_runs_is_not_compiled(ran, tmp_path):
    """Numbers of the interpreter, torch, an index: the compiler refuses what it does not know."""
    add, file = ran.texts["add_kernel-solution"], tmp_path / "kernel.py"
    right = "places, x + y, mask"
    assert add.count(right) == 1
    for wrong in (
        "places, tl.to_tensor(x.handle.data + y.handle.data), mask",
        "places, torch.add(x, y), mask",
        "places, x[0] + y, mask",
    ):
        file.write_text(f"import torch\n{add.replace(right, wrong)}")
        refused = compiled.errors(file)
        assert len(refused) == len(compiled.LAUNCHES["add_kernel"]), (wrong, refused)


def test_where_nothing_is_counted_each_cell_runs_too(ran):
    """As on a GPU, but for the kernels, which the interpreter runs."""
    names = {"__name__": "__main__"}
    printed = {}
    for cell, text in ran.texts.items():
        if cell in ran.printed and cell != "speed":
            out = io.StringIO()
            show_text(text, f"without counting/{cell}")
            with contextlib.redirect_stdout(out):
                exec(compile(text, f"without counting/{cell}", "exec"), names)
            names["INTERPRETED"] = False
            printed[cell] = out.getvalue()
    for kernel in ("add", "softmax", "flash"):
        assert printed[f"{kernel}-check"] == "The visible check passes.\n"
    assert "not counted" in printed["add-look"]
    assert printed["flash-look"] == printed["bytes-look"] and "says how to count there" in printed["flash-look"]
    assert ran.says("To count, restart the notebook with", 'os.environ["TRITON_INTERPRET"] = "1"')


@pytest.mark.parametrize(
    "version, beside, says",
    [
        ("3.3.0", "2.3.5", None),
        ("3.7.1", "2.4.0", None),
        ("3.2.0", "1.26.0", "needs Triton 3.3 or newer, and this is 3.2.0: pip install --upgrade triton, and"),
        (
            "3.6.0",
            "2.4.6",
            'Triton 3.7 or newer beside NumPy 2.4.6, and this is 3.6.0: .* or pip install "numpy<2.4", and',
        ),
    ],
)
def test_versions_that_are_too_old_are_told_at_the_beginning(ran, monkeypatch, version, beside, says):
    monkeypatch.setattr(triton, "__version__", version)
    monkeypatch.setattr("numpy.__version__", beside)
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    with pytest.raises(ImportError, match=says) if says else contextlib.nullcontext():
        exec(ran.texts["setup"], {})


@pytest.mark.parametrize("wish, device", [("1", "cpu"), ("true", "cpu"), ("ON", "cpu"), ("0", "cuda"), ("", "cuda")])
def test_the_interpreter_is_asked_for_as_triton_reads_it(ran, monkeypatch, wish, device):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setenv("TRITON_INTERPRET", wish)
    names = {}
    exec(ran.texts["setup"], names)
    assert names["DEVICE"] == device
    if hasattr(triton, "knobs"):  # since 3.4
        assert triton.knobs.runtime.interpret == (device == "cpu")


def test_the_check_of_flash_kernel_warns_of_nothing(ran):
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        exec(ran.texts["flash-check"], dict(ran.values))
    assert [str(one.message) for one in warned if one.category is RuntimeWarning] == []


def test_minutes_add_up(ran):
    rows = re.findall(r"^\| (?!exercise|-|\*\*)(.+?) \|.*\| (\d+) \|$", ran.texts["intro"], re.M)
    assert sum(int(minutes) for _, minutes in rows) == 95
    headings = [re.search(r"· (\d+) minutes ·", text) for text in ran.texts.values()]
    assert [found[1] for found in headings if found] == [minutes for _, minutes in rows]


def test_pictures_can_be_read(ran):
    assert ran.pictures and ran.hard_to_read() == []
