"""How many of the kit's files a command enters: `python benchmarks/entered.py [--root FOLDER]`.

A file is entered when a function of it is called, be it while another is imported; code that runs in the sandbox is not
seen. `check` gets one wrong answer, `grade` two students on one worker. `--root` is another checkout to look at.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NAME, EXERCISE = "02_queries_keys_values", "attention"
WRONG = "def attention(query, key, value, mask=None):\n    weights = torch.softmax(query @ key.mT, -1)\n"
WRONG += "    return weights @ value, weights\n"
# Read by every Python that the command starts, but for those in the sandbox, which are isolated.
HOOK = """import os, sys, threading
kit, seen = os.environ["ENTERED_KIT"] + "/", set()
def enter(frame, event, _):
    code = frame.f_code
    if event == "call" and code.co_filename not in seen and code.co_flags & 1:  # no module, and no body of a class
        seen.add(code.co_filename)
        if code.co_filename.startswith(kit):
            with open(os.environ["ENTERED"], "a") as page:
                page.write(code.co_filename[len(kit):] + "\\n")
sys.setprofile(enter)
threading.setprofile(enter)
"""


def entered(command: list[str], folder: Path, root: Path) -> list[str]:
    """The files of the kit in `root` that a command entered, run in `folder`."""
    hook, page = folder / "hook", folder / "entered"
    hook.mkdir(exist_ok=True)
    (hook / "sitecustomize.py").write_text(HOOK, encoding="utf-8")
    page.write_text("", encoding="utf-8")
    environment = {**os.environ, "ENTERED": str(page), "ENTERED_KIT": str(root / "autograder")}
    environment["PYTHONPATH"] = f"{hook}{os.pathsep}{root}"
    run = [sys.executable, "-m", "autograder", *command]
    done = subprocess.run(run, cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode not in (0, 1):  # 1: points are missing
        raise SystemExit(done.stdout + done.stderr)
    return sorted(set(page.read_text(encoding="utf-8").split()))


def course(root: Path, folder: Path) -> None:
    """A course in a folder, where one student handed in the solution, and another what was released."""
    for part in ("source", "release", "solutions"):
        shutil.copytree(root / part / NAME, folder / part / NAME)
    shutil.copy(root / "nbgrader_config.py", folder)
    for student, notebook in {"ada": "solutions", "ben": "release"}.items():
        shutil.copytree(root / notebook / NAME, folder / "submitted" / student / NAME)
    (folder / "x.py").write_text(WRONG, encoding="utf-8")


def row(what: str, files: list[str]) -> str:
    own = [file for file in files if not file.startswith("exercises/")]
    folders = {file.split("/")[1] for file in files if file.startswith("exercises/")} - {"families", "reference"}
    others = sorted(folders - {EXERCISE, "__init__.py"})
    nbgrader = sum(file.startswith("nbgrader/") for file in own)
    return f"| {what} | {len(own)} | {nbgrader} | {len(others)}: {', '.join(others) or 'none'} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--root", type=Path, default=ROOT, help="of another checkout (default: this one)")
    parser.add_argument("--list", action="store_true", help="name the files as well")
    options = parser.parse_args()
    root = options.root.resolve()
    print("| command | files of the kit | in nbgrader/ | other exercises than attention |\n|---|---:|---:|---|")
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        course(root, folder)
        for command in (["check", "x.py", "--exercise", EXERCISE], ["grade", "02", "--jobs", "1"]):
            if command[0] == "grade":
                entered(["build", "02"], folder, root)  # it wants a gradebook that knows the assignment
            files = entered(command, folder, root)
            print(row(f"`{' '.join(command)}`", files), flush=True)
            if options.list:
                print("\n".join(files))


if __name__ == "__main__":
    main()
