"""Writes the lock files for `make lock`: versions that pyproject.toml allows; those already pinned are kept.

    requirements.lock       what the kit needs, with its extras for clusters and PostgreSQL, but torch
    requirements-dev.lock   what the desk and the tests need beyond that
    lowest.lock             for Python 3.11, the lowest versions that pyproject.toml promises, with the same test tools;
                            Triton, too, though the lowest torch comes with an older one
    torch-cuda.lock         PyPI's torch, of the version in torch-cpu.lock, and NVIDIA's libraries, which it needs
    kernels.lock            Triton for lesson 11, of the version that this torch needs on a GPU
    site.lock               what `make site` needs, in an environment of its own

Each has the hashes of all files of a version, for each Python from 3.11 on. torch-cpu.lock is kept by hand: its files
are in PyTorch's index. To take newer versions, remove a file, or lines of it, first.
"""

import re
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from autograder.batch import pins

ROOT = Path(__file__).resolve().parents[2]
UV = ["uv", "pip", "compile", "--generate-hashes", "--python-version", "3.11", "--quiet"]
LOWEST = ["--resolution", "lowest-direct", "--only-binary", ":all:", "--constraint", "requirements-dev.lock"]
FOR_TESTS = ["--extra", "dev", "--extra", "desk"]
EXTRAS = ["--extra", "cluster", "--extra", "postgresql"]


def write(name: str, *arguments: str, without: set[str], of: Sequence[str] = ("pyproject.toml",)) -> set[str]:
    """Write a lock file of what the project needs, without some packages; returns the names of those in it."""
    left_out = [f"--no-emit-package={package}" for package in sorted(without)]
    command = [*UV, *arguments, *left_out, "--custom-compile-command", "make lock", "--output-file", name]
    subprocess.run([*command, *of], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return {pin.name for pin in pins.read((ROOT / name).read_text(encoding="utf-8"))}


def main() -> None:
    """Write the files, each without what those before it have."""
    torch = re.findall(r"^torch==[\d.]+", (ROOT / "torch-cpu.lock").read_text(encoding="utf-8"), re.MULTILINE)
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as constraint:
        print(*torch, file=constraint, flush=True)
        options = ["--universal", *EXTRAS, "--constraint", constraint.name]
        everything = write("requirements.lock", *options, without=set())
        for_cuda = {name for name in everything if name.startswith(("nvidia-", "cuda-"))} | {"torch", "triton"}
        write("torch-cuda.lock", *options, without=everything - for_cuda)
        write("kernels.lock", *options, "--extra", "kernels", without=everything - {"triton"})
        write("requirements.lock", *options, without=for_cuda)
        write("requirements-dev.lock", *options, *FOR_TESTS, without=everything)
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as override:
        (triton,) = re.findall(r'"triton>=([\d.]+)', (ROOT / "pyproject.toml").read_text(encoding="utf-8"))
        print(f"triton=={triton}.0", file=override, flush=True)
        write("lowest.lock", *EXTRAS, *FOR_TESTS, *LOWEST, "--override", override.name, without=set())
    write("site.lock", "--universal", without=set(), of=["--group", "site"])


if __name__ == "__main__":
    main()
