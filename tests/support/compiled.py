"""Compiles Triton kernels for a GPU on a machine that has none: `python compiled.py FILE…`, and a line for each error.

A process of its own, without TRITON_INTERPRET: Triton decides as it is imported whether kernels are compiled.
"""

import importlib.util
import os
import subprocess
import sys
import tempfile
from pathlib import Path

# What a GPU such as Colab's T4 has: its compute capability and the bytes of shared memory that a program may take.
CAPABILITY, SHARED = 75, 64 * 2**10
ADD, SOFTMAX, FLASH = ["{0}"] * 3 + ["i32"], ["{0}"] * 2 + ["i32"] * 3, ["{0}"] * 4 + ["*fp32", "i32", "fp32"]
# kernel -> its launches, as the lesson makes them on a GPU: the dtype, the arguments' types, and the constants behind
# them. A 1 in place of a type is an argument of value 1, which Triton compiles in.
LAUNCHES = {
    "add_kernel": [("*fp32", ADD, [1]), ("*fp32", [*ADD[:3], 1], [8]), ("*i32", ADD, [1024])],
    "softmax_kernel": [("*fp32", SOFTMAX, [16]), ("*fp16", [*SOFTMAX[:2], 1, 1, 1], [1])],
    "flash_kernel": [
        ("*fp32", FLASH, [False, 16, 32, 16]),
        ("*fp32", FLASH, [True, 16, 16, 32]),
        ("*fp16", FLASH, [True, 16, 16, 16]),
        ("*fp16", [*FLASH[:5], 1, "fp32"], [True, 16, 16, 16]),
    ],
}


def errors(*files: Path) -> list[str]:
    """What Triton's compiler says against the kernels of these files: a line for each launch that it refuses."""
    with tempfile.TemporaryDirectory() as cache:
        kept = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
        environment = {**kept, "TRITON_CACHE_DIR": cache}
        done = subprocess.run([sys.executable, __file__, *files], env=environment, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return done.stdout.splitlines()


def _compile(file):
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    spec = importlib.util.spec_from_file_location("kernels", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name in LAUNCHES.keys() & vars(module).keys():
        kernel = getattr(module, name)
        for dtype, types, constants in LAUNCHES[name]:
            given = [*(one if one == 1 else one.format(dtype) for one in types), *constants]
            types = {
                arg: one if isinstance(one, str) else "constexpr"
                for arg, one in zip(kernel.arg_names, given, strict=True)
            }
            fixed = {(place,): one for place, one in enumerate(given) if not isinstance(one, str)}
            try:
                made = triton.compile(ASTSource(kernel, types, fixed), target=GPUTarget("cuda", CAPABILITY, 32))
            except Exception as error:
                yield f"{file}: {name} {given}: {type(error).__name__}: {' '.join(str(error).split())}"
                continue
            if made.metadata.shared > SHARED:
                yield f"{file}: {name} {given}: takes {made.metadata.shared} bytes of shared memory"


if __name__ == "__main__":
    for file in sys.argv[1:]:
        for line in _compile(file):
            print(line)
