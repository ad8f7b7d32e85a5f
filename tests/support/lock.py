"""Writes the lock files for `make lock`: versions that pyproject.toml allows; those already pinned are kept.

    requirements.lock   what the kit needs, but torch: `make demo` installs no more
    cluster.lock        what clusters and PostgreSQL need beyond that
    desk.lock           what the desk needs beyond these
    dev.lock            what the tests need beyond these
    torch-cuda.lock     PyPI's torch, of the version in torch-cpu.lock, and NVIDIA's libraries, which it needs
    kernels.lock        Triton for lesson 11, of the version that this torch needs on a GPU
    site.lock           what `make site` needs, in an environment of its own

Each has the hashes of all files of a version, for each Python from 3.11 on. torch-cpu.lock is kept by hand: its files
are in PyTorch's index. To take newer versions, remove a file, or lines of it, first.

`lock.py --lowest FILE` writes there, for Python 3.11, the lowest versions that pyproject.toml promises, with the same
desk and test tools; Triton, too, though the lowest torch comes with an older one. `make lowest` runs it.
"""

import argparse
import re
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from autograder.batch import pins

ROOT = Path(__file__).resolve().parents[2]
LOCKS = ROOT / "locks"
UV = ["uv", "pip", "compile", "--generate-hashes", "--python-version", "3.11", "--quiet"]
LOWEST = ["--resolution", "lowest-direct", "--only-binary", ":all:"]
LOWEST += ["--constraint", "locks/desk.lock", "--constraint", "locks/dev.lock"]
CLUSTER = ["--extra", "cluster", "--extra", "postgresql"]
DESK = ["--extra", "desk"]
DEV = ["--extra", "dev"]


def write(path: Path, *arguments: str, without: set[str], of: Sequence[str] = ("pyproject.toml",)) -> set[str]:
    """Write a lock file of what the project needs, without some packages; returns the names of those in it."""
    left_out = [f"--no-emit-package={package}" for package in sorted(without)]
    command = [*UV, *arguments, *left_out, "--custom-compile-command", "make lock", "--output-file", str(path)]
    subprocess.run([*command, *of], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    text = re.sub(r"^ +# +-c .*\n", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)  # a temporary file's name
    path.write_text(text, encoding="utf-8")
    return {pin.name for pin in pins.read(text)}


def write_all() -> None:
    """Write the files of `locks/`, each without what those before it have."""
    torch = re.findall(r"^torch==[\d.]+", (LOCKS / "torch-cpu.lock").read_text(encoding="utf-8"), re.MULTILINE)
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as constraint:
        print(*torch, file=constraint, flush=True)
        options = ["--universal", "--constraint", constraint.name]
        known = write(LOCKS / "requirements.lock", *options, without=set())
        for_cuda = {name for name in known if name.startswith(("nvidia-", "cuda-"))} | {"torch", "triton"}
        write(LOCKS / "torch-cuda.lock", *options, without=known - for_cuda)
        write(LOCKS / "kernels.lock", *options, "--extra", "kernels", without=known - {"triton"})
        write(LOCKS / "requirements.lock", *options, without=for_cuda)
        extras: list[str] = []
        for name, more in (("cluster", CLUSTER), ("desk", DESK), ("dev", DEV)):
            extras += more
            known |= write(LOCKS / f"{name}.lock", *options, *extras, without=known)
    write(LOCKS / "site.lock", "--universal", without=set(), of=["--group", "site"])


def write_lowest(path: Path) -> None:
    """Write a lock file of the lowest versions."""
    (triton,) = re.findall(r'"triton>=([\d.]+)', (ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as override:
        print(f"triton=={triton}.0", file=override, flush=True)
        write(path, *CLUSTER, *DESK, *DEV, *LOWEST, "--override", override.name, without=set())


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--lowest", type=Path, metavar="FILE")
    lowest = parser.parse_args().lowest
    write_lowest(lowest) if lowest else write_all()
