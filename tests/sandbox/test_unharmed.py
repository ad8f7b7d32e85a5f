"""Honest students are unharmed: what notebooks also do costs no point, and what cannot work says so in one sentence."""

import json

import pytest
from conftest import cell_of, hand_in

from autograder.sandbox.inside import unavailable

ANSWERS = ("SingleHeadSelfAttention-solution", "SelfAttention-solution", "attention-solution")

# A cell (or cells) -> what its outputs must show; None: that it ends without an error.
HARMLESS = {
    "a warning": ("import warnings\nwarnings.warn('beware')", "UserWarning: beware"),
    "standard error": ("import sys\nprint('to stderr', file=sys.stderr)", "to stderr"),
    "a plot": ("%matplotlib inline\nimport matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()", "image/png"),
    "another backend": ("%matplotlib widget\nimport matplotlib.pyplot as plt\nplt.plot([1, 2])", "image/png"),
    "a window": ("import matplotlib\nmatplotlib.use('TkAgg')\nplt.plot([1, 2])", "image/png"),
    "sharper pictures": ("%config InlineBackend.figure_format = 'retina'\nplt.plot([1])", "image/png"),
    "an animation": (
        "from matplotlib.animation import FuncAnimation\nfrom IPython.display import HTML\n"
        "figure, ax = plt.subplots()\n(line,) = ax.plot([0, 1])\n"
        "HTML(FuncAnimation(figure, lambda i: (line,), frames=2).to_jshtml())",
        "HTML object",
    ),
    "%%time": ("%%time\ny = torch.ones(3)", "Wall time"),
    "%timeit": ("%timeit -n 10 -r 1 torch.ones(3)", "per loop"),
    "%%capture": ("%%capture said\nprint(3)", None),
    "%cd": ("import os\nos.makedirs('data', exist_ok=True)\n%cd data\n%cd ..\n%pwd", "work"),
    "%env": ("%env CUDA_VISIBLE_DEVICES=0", "CUDA_VISIBLE_DEVICES=0"),
    "autoreload": ("%load_ext autoreload\n%autoreload 2", None),
    "%who and %history": ("%who\n%history\n%lsmagic", "sentence"),
    "the debugger on": ("%pdb on\n%pdb off", "OFF"),
    "a bare ?": ("?", "IPython"),
    "a name and ?": ("torch.nn.Linear?", "in_features"),
    "a name and ??": ("torch.nn.Linear??", "class Linear"),
    "tqdm": ("from tqdm import tqdm\nfor _ in tqdm(range(3)): pass", "100%"),
    "tqdm.auto": ("from tqdm.auto import tqdm\nfor _ in tqdm(range(3)): pass", "100%"),
    "tqdm.notebook": ("from tqdm.notebook import tqdm\nfor _ in tqdm(range(3)): pass", "0/3"),
    "widgets": ("from ipywidgets import interact\n@interact(x=(0, 10))\ndef f(x=3): return x", "3"),
    "rich objects": (
        "from IPython.display import HTML, Markdown, Math, clear_output, display\n"
        "display(HTML('<b>x</b>'), Markdown('**x**'), Math('x'), {'a': 1})",
        "{'a': 1}",
    ),
    "saved files": (
        "import numpy as np\ntorch.save({'a': torch.ones(2)}, 'a.pt')\nnp.save('b', np.ones(3))\n"
        "open('c.txt', 'w').write('x')\nprint(torch.load('a.pt'), np.load('b.npy'), open('c.txt').read())",
        "tensor([1., 1.])",
    ),
    "a module of its own": (["%%writefile helper.py\nX = 31", "import helper\nhelper.X"], "31"),
    "%run": ("%run helper.py\nprint(X)", "31"),
    "threads": (
        "from concurrent.futures import ThreadPoolExecutor\n"
        "with ThreadPoolExecutor(4) as pool: print(list(pool.map(abs, [-5])))",
        "[5]",
    ),
    "torch's threads": ("torch.set_num_threads(2)\n(torch.ones(300, 300) @ torch.ones(300, 300)).mean()", "300."),
    "as many as torch has elsewhere": ("torch.set_num_threads(64)\ntorch.get_num_threads()", "64"),
    "a pool of many threads": (
        "import time\nwith ThreadPoolExecutor(32) as e: print(sum(e.map(lambda n: time.sleep(0.01) or n, range(40))))",
        "780",
    ),
    "await": ("import asyncio\nawait asyncio.sleep(0.01)\nprint('slept')", "slept"),
    "asyncio.run": ("async def three(): return 3\nprint(asyncio.run(three()))", "3"),
    "logging": ("import logging\nlogging.basicConfig(level='INFO')\nlogging.info('a line')", "a line"),
    "logging, a cell later": ("logging.info('another')", "another"),
    "faulthandler": ("import faulthandler\nfaulthandler.enable()", None),
    "argparse": ("import argparse\nprint(argparse.ArgumentParser().parse_args())", "Namespace()"),
    "__main__": ("if __name__ == '__main__':\n    print('main')", "main"),
    "dataclasses and hints": (
        "from __future__ import annotations\nfrom dataclasses import dataclass\n@dataclass\nclass Config:\n"
        "    d: int = 4\n    p: float | None = None\nConfig()",
        "Config(d=4, p=None)",
    ),
    "non-ASCII names": ("größe = 3; δ = 0.5; 名前 = 'x'\nprint(größe, δ, 名前)", "3 0.5 x"),
    "Windows line endings": ("a = 1\r\nif a:\r\n    b = 2\r\n    print(a, b)\r\n%time c = 3\r\n", "1 2"),
    "large tensors": ("torch.set_printoptions(threshold=10**6)\nprint(torch.ones(200, 200))", "the rest was cut"),
    "seeds everywhere": (
        "import random\nrandom.seed(0); np.random.seed(0); torch.manual_seed(0); torch.cuda.manual_seed_all(0)\n"
        "torch.backends.cudnn.deterministic = True",
        None,
    ),
    "torch.jit": ("@torch.jit.script\ndef more(x: torch.Tensor): return x + 1\nmore(torch.ones(1))", "2."),
    "the profiler": ("with torch.profiler.profile() as p: torch.ones(3).sum()\nlen(p.key_averages()) > 0", "True"),
    "source code": ("import inspect\ndef one(): return 1\nprint(inspect.getsource(one))", "def one(): return 1"),
    "stdin": ("import sys\nprint(repr(sys.stdin.readline()))", "''"),
    "stdout into a file": ("sys.stdout = open('log.txt', 'w')\nprint('into the file')", None),
    "shadowed built-ins": ("max = 3; sum = 5; list = [1]; str = 'x'; type = 3; id = 3; print = 4", None),
    "and gone again": ("del max, sum, list, str, type, id, print", None),
}

# A cell -> the sentence that its outputs must show, once. "after" is printed below it: the rest of the cell runs on.
LACKING = {
    "!command": ("!pip list", unavailable.NO_PROCESS),
    "a !command's output": ("files = !ls", unavailable.NO_PROCESS),
    "%pip": ("%pip install einops", unavailable.NO_PROCESS),
    "!nvidia-smi": ("!nvidia-smi", unavailable.NO_PROCESS),
    "subprocess": ("import subprocess\nsubprocess.run(['ls'], capture_output=True)", unavailable.NO_PROCESS),
    "subprocess, in a shell": ("subprocess.check_output('ls', shell=True)", unavailable.NO_PROCESS),
    "os.system": ("import os\nos.system('pip install einops')", unavailable.NO_PROCESS),
    "os.popen": ("os.popen('ls').read()", unavailable.NO_PROCESS),
    "os.fork": ("os.fork()", unavailable.NO_PROCESS),
    "multiprocessing": ("import multiprocessing as mp\nmp.Process(target=print).start()", unavailable.NO_PROCESS),
    "a pool": ("with mp.Pool(2) as pool: pool.map(abs, [1])", unavailable.NO_PROCESS),
    "a queue": ("mp.Queue()", unavailable.NO_PROCESS),
    "an executor": (
        "from concurrent.futures import ProcessPoolExecutor\nwith ProcessPoolExecutor() as e: list(e.map(abs, [1]))",
        unavailable.NO_PROCESS,
    ),
    "many threads": (
        "import threading, time\nfor _ in range(40): threading.Thread(target=time.sleep, args=(0.1,)).start()",
        unavailable.FEW_THREADS,
    ),
    "torch.multiprocessing": ("torch.multiprocessing.spawn(print, nprocs=2)", unavailable.NO_PROCESS),
    "a process of asyncio": ("import asyncio\nawait asyncio.create_subprocess_exec('ls')", unavailable.NO_PROCESS),
    "urllib": ("import urllib.request\nurllib.request.urlopen('http://example.org')", unavailable.NO_NETWORK),
    "urlretrieve": ("urllib.request.urlretrieve('https://example.org/a', 'a')", unavailable.NO_NETWORK),
    "requests": ("import requests\nrequests.get('https://example.org')", unavailable.NO_NETWORK),
    "torch.hub": ("torch.hub.load('pytorch/vision', 'resnet18')", unavailable.NO_NETWORK),
    "weights by torch.hub": ("torch.hub.load_state_dict_from_url('https://example.org/x.pth')", unavailable.NO_NETWORK),
    "a socket": ("import socket\nsocket.socket().connect(('192.0.2.1', 80))", unavailable.NO_NETWORK),
    "a connection": ("socket.create_connection(('192.0.2.1', 80))", unavailable.NO_NETWORK),
    "a name looked up": ("socket.gethostbyname('example.org')", unavailable.NO_NETWORK),
    "no network, but handled": (
        "try: urllib.request.urlopen('http://example.org')\nexcept OSError: print('later, then')",
        unavailable.NO_NETWORK,
    ),
    "no network, hidden": (
        "try: urllib.request.urlopen('http://example.org')\nexcept OSError: raise RuntimeError('no data') from None",
        unavailable.NO_NETWORK,
    ),
    "input()": ("name = input('who are you? ')", unavailable.NO_INPUT),
    "getpass": ("import getpass\ngetpass.getpass()", unavailable.NO_INPUT),
    "breakpoint()": ("breakpoint()", unavailable.NO_DEBUGGER),
    "pdb": ("import pdb; pdb.set_trace()", unavailable.NO_DEBUGGER),
    "exit()": ("exit()", unavailable.NO_EXIT),
    "quit()": ("quit()", unavailable.NO_EXIT),
    "torch.compile": ("torch.compile(nn.Linear(2, 2))(torch.ones(2))", unavailable.NO_COMPILER),
    "@torch.compile": ("@torch.compile(mode='max-autotune')\ndef f(x): return x\nf(1)", unavailable.NO_COMPILER),
    "module.compile()": ("head = nn.Linear(2, 2); head.compile(); head(torch.ones(2))", unavailable.NO_COMPILER),
    "a loader's workers": (
        "from torch.utils.data import DataLoader\nloader = DataLoader(range(8), batch_size=4, num_workers=2,\n"
        "                    persistent_workers=True, prefetch_factor=4, timeout=5)\n"
        "assert sum(len(batch) for _ in range(2) for batch in loader) == 16, 'it loads nothing'",
        unavailable.NO_WORKERS,
    ),
    "Colab's drive": (
        "from google.colab import drive\ndrive.mount('/content/drive')",
        unavailable.NO_MODULE.format("google"),
    ),
    "a missing package": ("import some_missing_package as smp", unavailable.NO_MODULE.format("some_missing_package")),
    "a file that was not handed in": ("open('/content/sample_data/x.csv')", unavailable.NO_FILE),
    "a file elsewhere": ("torch.save(torch.ones(1), '/tmp/elsewhere.pt')", unavailable.NO_FILE),
    "a GPU": ("torch.ones(3).cuda()", unavailable.NO_GPU),
    "a GPU, by its name": ("nn.Linear(2, 2).to('cuda')", unavailable.NO_GPU),
}

# What cells can leave set for the whole process; an answer is judged by its own code.
GLOBAL = {
    "gradients off": "torch.set_grad_enabled(False)",
    "no_grad, never left": "torch.no_grad().__enter__()",
    "another default dtype": "torch.set_default_dtype(torch.float64)",
    "another default device": "torch.set_default_device('meta')",
    "a default device that is not there": "torch.set_default_device('cuda')",
    "autocast, never left": "torch.autocast('cpu').__enter__()",
    "warnings as errors": "import warnings\nwarnings.filterwarnings('error')",
    "deterministic, NaN refused": "torch.use_deterministic_algorithms(True)\ntorch.autograd.set_detect_anomaly(True)",
}

# Above an answer, in the same cell: the answer must be found all the same.
ABOVE = {
    "Colab": "from google.colab import drive\ndrive.mount('/content/drive')\n",
    "a package that is not used": "import pandas as pd\ntable = pd.DataFrame()\n",
    "an installation": "!pip install einops\n",
    "a download": "import urllib.request\ntext = urllib.request.urlopen('http://example.org').read()\nn = len(text)\n",
    "a question": "name = input('your name? ')\nprint('hello', name)\n",
    "an exit": "exit()\n",
    "a missing GPU": "x = torch.ones(3, device='cuda')\n",
    "a GPU that is asked for": "assert torch.cuda.is_available(), 'turn it on'\nx = torch.ones(3, device='cuda')\n",
    "a GPU that is asked for by its name": "device = torch.get_default_device()\nassert device.type == 'cuda'\n",
    "a GPU that is asked for by raise": "if not torch.cuda.is_available():\n    raise RuntimeError('no GPU')\n",
    "Databricks": "dbutils.library.restartPython()\ndisplay(spark.sql('select 1'))\ndf = spark.table('x')\n",
    "a cell magic of a package": "%%memit\n",
    "a magic of a package": "%load_ext memory_profiler\n%memit 1 + 1\nusage = %memit -o 1\n",
    "Databricks' language": "%python\n",
    "await": "import asyncio\nawait asyncio.sleep(0)\n",
    "a compiled answer": "@torch.compile\n",
    "hints": "from __future__ import annotations\n",
}

# At the start of `attention`'s body.
INSIDE = {
    "prints": "print(query, mask)",
    "warnings": "import warnings; warnings.warn('slow')",
    "a breakpoint": "breakpoint()",
    "a debugger": "import pdb; pdb.set_trace()",
    "IPython's debugger": "from IPython.core.debugger import set_trace; set_trace()",
    "logging": "import logging; logging.warning('called')",
    "a plot": "import matplotlib.pyplot as plt; plt.imshow(torch.ones(2, 2)); plt.show()",
    "a progress bar": "from tqdm.auto import tqdm; [0 for _ in tqdm(range(2))]",
    "a file": "torch.save(query, 'query.pt')",
}

SLOW = """
def attention(query, key, value, mask=None):
    if query.dim() < 2 or key.dim() < 2 or value.dim() < 2:
        raise ValueError(f"tokens and features are needed, got {query.shape}, {key.shape}, {value.shape}")
    if query.shape[-1] != key.shape[-1] or key.shape[-2] != value.shape[-2]:
        raise ValueError(f"{query.shape}, {key.shape} and {value.shape} do not go together")
    leading = torch.broadcast_shapes(query.shape[:-2], key.shape[:-2], value.shape[:-2])
    t, s, n = query.shape[-2], key.shape[-2], leading.numel()
    q, k, v = (x.expand(*leading, *x.shape[-2:]).reshape(n, *x.shape[-2:]) for x in (query, key, value))
    allowed = None if mask is None else mask.expand(*leading, t, s).reshape(n, t, s)
    every_output, every_weight = [], []
    for b in range(q.shape[0]):
        for i in range(t):
            scores = []
            for j in range(s):
                score = q.new_zeros(())
                for f in range(q.shape[-1]):
                    score = score + q[b, i, f] * k[b, j, f]
                scores.append(score / q.shape[-1] ** 0.5)
            row = torch.stack(scores) if scores else q.new_zeros(0)
            if allowed is not None:
                row = row.masked_fill(~allowed[b, i], -1e30 if row.dtype != torch.float16 else -6e4)
            row = torch.softmax(row, dim=-1)
            if allowed is not None:
                row = row * allowed[b, i]
            every_weight.append(row)
            every_output.append(row @ v[b])
    output = torch.stack(every_output).reshape(*leading, t, v.shape[-1]) if every_output else v.new_zeros(
        *leading, t, v.shape[-1])
    weights = torch.stack(every_weight).reshape(*leading, t, s) if every_weight else q.new_zeros(*leading, t, s)
    return output, weights
"""


def code(source, number):
    """A code cell of the student's own."""
    return {
        "cell_type": "code",
        "id": f"own-{number}",
        "metadata": {},
        "execution_count": None,
        "outputs": [],
        "source": source,
    }


def with_cells(notebook, sources, after="setup"):
    """Insert cells below the cell of that grade id; returns the place of the first."""
    place = notebook["cells"].index(cell_of(notebook, after)) + 1
    notebook["cells"][place:place] = [code(source, number) for number, source in enumerate(sources)]
    return place


def assert_full(verdict):
    lost = [(e.exercise, e.status, e.message, [c.message for c in e.checks if not c.passed]) for e in verdict.exercises]
    assert verdict.full, lost


def shown(outputs):
    """All that the feedback shows of a cell's outputs, as text."""
    return "\n".join(
        "\n".join([o.get("text", ""), *o.get("traceback", []), *o.get("data", {}), *o.get("data", {}).values()])
        for o in outputs
    )


def graded_with(grader, folder, table, below=""):
    """(the Verdict of a solution with all cells of a table, by case: the outputs of its cells)."""
    notebook = json.loads((folder / "solution.ipynb").read_text(encoding="utf-8"))
    sources = [(case, source) for case, (cells, _) in table.items() for source in _as_list(cells)]
    place = with_cells(notebook, [source + below for _, source in sources])
    graded = grader.grade_file(hand_in(notebook, folder))
    outputs = {}
    for index, (case, _) in enumerate(sources, start=place):
        outputs.setdefault(case, []).extend(graded.outputs[index])
    return graded.verdict, outputs


def _as_list(cells):
    return cells if isinstance(cells, list) else [cells]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the solution notebook in it."""
    from conftest import ASSIGNMENT, ROOT

    folder = tmp_path_factory.mktemp("unharmed")
    text = (ROOT / "solutions" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb").read_text(encoding="utf-8")
    (folder / "solution.ipynb").write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def harmless(grader, folder):
    """One notebook with all that is harmless."""
    return graded_with(grader, folder, HARMLESS)


@pytest.fixture(scope="module")
def lacked(grader, folder):
    """One notebook with all that cannot work."""
    return graded_with(grader, folder, LACKING, below="\nprint('af' + 'ter')")


def test_the_harmless_costs_nothing(harmless):
    assert_full(harmless[0])


@pytest.mark.parametrize("case", HARMLESS)
def test_the_harmless_works(harmless, case):
    outputs, expected = harmless[1][case], HARMLESS[case][1]
    assert not [o for o in outputs if o["output_type"] == "error"], outputs
    text = shown(outputs)
    assert expected is None or expected in text
    assert unavailable.RUNS_ON not in text


def test_what_cannot_work_costs_nothing(lacked):
    assert_full(lacked[0])


@pytest.mark.parametrize("case", LACKING)
def test_what_cannot_work_says_so_and_the_rest_runs_on(lacked, case):
    """Whatever the chain of exceptions: the feedback shows the sentence, and no second one; what is below has run."""
    text = shown(lacked[1][case])
    assert LACKING[case][1] in text and "after\n" in text
    others = [s for _, s in LACKING.values() if s != LACKING[case][1]]
    assert not [s for s in others if s in text]
    said = [o for o in lacked[1][case] if o.get("name") == "stderr" and unavailable.RUNS_ON in o["text"]]
    assert len(said) <= 1 and all(o["text"].count(unavailable.RUNS_ON) == 1 for o in said)


@pytest.mark.parametrize("case", GLOBAL)
def test_an_answer_is_judged_by_its_own_code(grader, solution, tmp_path, case):
    with_cells(solution, [GLOBAL[case]])
    assert_full(grader.grade_file(hand_in(solution, tmp_path)).verdict)


@pytest.mark.drawn(6, "answers below what cannot work")
@pytest.mark.parametrize("case", ABOVE)
def test_an_answer_below_what_cannot_work_counts(grader, solution, tmp_path, case):
    cell = cell_of(solution, "attention-solution")
    answer = "".join(cell["source"])
    cell["source"] = ABOVE[case] + answer
    assert_full(grader.grade_file(hand_in(solution, tmp_path), "attention").verdict)


@pytest.mark.parametrize("case", INSIDE)
def test_what_an_answer_also_does_costs_nothing(grader, solution, tmp_path, case):
    cell = cell_of(solution, "attention-solution")
    head = "def attention(query, key, value, mask=None):\n"
    source = "".join(cell["source"])
    assert head in source
    cell["source"] = source.replace(head, f"{head}    {INSIDE[case]}\n")
    assert_full(grader.grade_file(hand_in(solution, tmp_path), "attention").verdict)


def test_loops_are_slow_but_right(grader, solution, tmp_path):
    cell_of(solution, "attention-solution")["source"] = SLOW
    assert_full(grader.grade_file(hand_in(solution, tmp_path), "attention").verdict)


def test_stale_outputs_and_counts_do_not_matter(grader, solution, tmp_path):
    """Cells run in any order in the student's kernel, an error that is long mended: only the code counts."""
    for number, cell in enumerate(c for c in solution["cells"] if c["cell_type"] == "code"):
        cell["execution_count"] = 97 - number
        cell["outputs"] = [{"output_type": "error", "ename": "E", "evalue": "e", "traceback": ["E: e"]}]
    assert_full(grader.grade_file(hand_in(solution, tmp_path)).verdict)


def test_windows_line_endings_everywhere(grader, solution, tmp_path):
    for cell in solution["cells"]:
        cell["source"] = "".join(cell["source"]).replace("\n", "\r\n")
    assert_full(grader.grade_file(hand_in(solution, tmp_path)).verdict)


def test_failing_experiments_cost_nothing(grader, solution, tmp_path):
    """A cell with an error of its own stops there, as in a notebook, and the next one runs."""
    place = with_cells(solution, ["1 / 0\nprint('below')", "def f(:", "raise SystemExit", "undefined_name", "1 + 1"])
    graded = grader.grade_file(hand_in(solution, tmp_path))
    assert_full(graded.verdict)
    assert [len(graded.outputs[place + n]) for n in (0, 1, 3)] == [1, 1, 1]
    assert shown(graded.outputs[place + 4]).strip().endswith("2")


def test_cells_share_their_names(grader, solution, tmp_path):
    """An answer may use what another cell defines, above it or below."""
    cell = cell_of(solution, "attention-solution")
    source = "".join(cell["source"])
    cell["source"] = source.replace("def attention(", "def _mine(") + "\n\n\ndef attention(*args, **kwargs):\n"
    cell["source"] += "    counter['calls'] += 1\n    return helper(*args, **kwargs)\n"
    with_cells(solution, ["counter = {'calls': 0}"])
    with_cells(solution, ["helper = _mine"], after="attention")
    assert_full(grader.grade_file(hand_in(solution, tmp_path), "attention").verdict)


@pytest.mark.parametrize(
    "line, sentence",
    [
        ("import urllib.request; urllib.request.urlopen('http://example.org')", unavailable.NO_NETWORK),
        ("import subprocess; subprocess.run('ls')", unavailable.NO_PROCESS),
        ("import some_missing_package", unavailable.NO_MODULE.format("some_missing_package")),
        ("input('?')", unavailable.NO_INPUT),
    ],
)
def test_an_answer_that_cannot_do_without_is_told_so(grader, solution, tmp_path, line, sentence):
    cell_of(solution, "attention-solution")["source"] = (
        f"def attention(*args, **kwargs):\n    try:\n        {line}\n"
        "    except Exception as error:\n        raise RuntimeError('it did not work') from error\n"
    )
    outcome = grader.grade_file(hand_in(solution, tmp_path), "attention").verdict.exercise("attention")
    assert outcome.score == 0 and any(sentence in c.message for c in outcome.checks)


WITHOUT_VALUE = {
    "a module": ("import ipdb", "ipdb.set_trace()", "`ipdb` is not installed where this was graded"),
    "a function of one": (
        "from icecream import ic",
        "ic(1)",
        "`ic` comes from `icecream`, which is not installed where this was graded",
    ),
    "another name for it": ("import wandb as w", "w.log({})", "`w` comes from `wandb`, which is not installed"),
    "a part of one": ("import wandb.sdk", "wandb.log({})", "`wandb` is not installed where this was graded"),
    "a file beside the notebook": (
        "from my_utils import spread_of",
        "spread_of(1)",
        "`spread_of` comes from `my_utils`",
    ),
    "all of such a file": ("from my_utils import *", "spread_of(1)", "`spread_of` comes from `my_utils`"),
    "what stands beside it": (
        "import ipdb, json as js",
        "js.dumps(1)",
        "`js` has no value, since `ipdb` is not installed",
    ),
    "what it made": (
        "import wandb\nrun = wandb.init()",
        "run.log(1)",
        "`run` has no value, since `wandb` is not installed",
    ),
    "what a GPU has": ("x = torch.ones(1).cuda()", "x + 1", "`x` has no value, since there is no GPU"),
    "a decorator": (
        "from beartype import beartype\n@beartype\ndef mine(x): return x",
        "mine(1)",
        "`mine` has no value, since `beartype` is not installed",
    ),
    "a platform": ("x = 1", "dbutils.fs", "`dbutils` is there on Databricks alone"),
    "%reset": ("%reset -f", "torch.ones(1)", "`torch` was removed by `%reset` in code cell"),
    "del": ("helper = 1\ndel torch", "torch.ones(1)", "`torch` was removed in code cell"),
}


@pytest.mark.drawn(3, "names that have no value")
@pytest.mark.parametrize("name", WITHOUT_VALUE)
def test_a_name_without_a_value_keeps_the_reason(grader, solution, tmp_path, name):
    above, use, says = WITHOUT_VALUE[name]
    with_cells(solution, [above])
    cell_of(solution, "attention-solution")["source"] = f"def attention(*args, **kwargs):\n    return {use}\n"
    outcome = grader.grade_file(hand_in(solution, tmp_path), "attention").verdict.exercise("attention")
    assert outcome.score == 0 and any(says in check.message for check in outcome.checks)
    assert not any("is not defined" in check.message for check in outcome.checks)
    named = [one.message for one in outcome.diagnosis]
    assert not any("one and the same line" in said for said in named) or "has no value" in says or "platform" in name


def test_a_name_that_nothing_lacks_is_not_excused(grader, solution, tmp_path):
    with_cells(solution, ["import ipdb\nfrom json import *"])
    cell_of(solution, "attention-solution")["source"] = "def attention(*args, **kwargs):\n    return spread_of(1)\n"
    outcome = grader.grade_file(hand_in(solution, tmp_path), "attention").verdict.exercise("attention")
    assert any("name 'spread_of' is not defined" in check.message for check in outcome.checks)
