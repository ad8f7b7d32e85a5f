"""An autograded exercise course on attention in PyTorch."""

import os
import sys

# Trusted processes and sandboxes both compute small tensors: one thread each is fastest, and a
# forked child hangs on its first matmul if the parent's OpenMP pool had started (docs/security.md).
os.environ.setdefault("OMP_NUM_THREADS", "1")

# jsonschema, which all that reads notebooks imports, would compile a grammar of web addresses with this
# (where it is installed: Jupyter brings it), which takes longer than importing torch. No schema here has any.
sys.modules.setdefault("rfc3987_syntax", None)  # pyright: ignore[reportArgumentType]  # not to be imported
