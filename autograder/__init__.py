"""An autograded exercise course on attention in PyTorch."""

import os

# Trusted processes and sandboxes both compute small tensors: one thread each is fastest, and a
# forked child hangs on its first matmul if the parent's OpenMP pool had started (docs/security.md).
os.environ.setdefault("OMP_NUM_THREADS", "1")
