"""Watches what torch does in a call: the devices, how much is computed, and what is kept for gradients."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from . import held
from .refusals import MixedDevices
from .training import Multiplications


class OneDevice(TorchDispatchMode):
    """Refuses operations on tensors from different devices, as a GPU would.

    Without it, torch allows matmul, embedding look-ups and in-place fills with mixed devices if one of them is `meta`.
    Copies between devices, tensors without dimensions, and indices on the CPU are allowed, as on a GPU. What is joined
    has to lie on one device, whatever its dimensions.
    """

    COPIES = {"aten::_to_copy", "aten::copy_", "aten::copy", "aten::_copy_from", "aten::to"}
    INDEXING = {"aten::index", "aten::index_put", "aten::index_put_", "aten::_index_put_impl_"}
    JOINING = {"aten::cat", "aten::stack"}

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        name = func._schema.name
        if name not in self.COPIES:
            looked_at = args[0] if name in self.INDEXING else (args, kwargs)
            tensors = [t for t in tree_leaves(looked_at) if isinstance(t, torch.Tensor)]
            devices = {t.device.type for t in tensors if t.dim() > 0 or name in self.JOINING}
            if len(devices) > 1:
                what, where = name.removeprefix("aten::"), " and ".join(sorted(devices))
                raise MixedDevices(f"`{what}` got tensors on different devices ({where})")
        return func(*args, **(kwargs or {}))


class Products(TorchDispatchMode):
    """Counts the operations that attention consists of: matrix products, softmaxes, and operations that replace them.

    Views, copies and casts do not count, so the count does not depend on the memory layout of tensors.
    """

    NAMES = {"mm", "bmm", "addmm", "baddbmm", "mv", "dot", "mul", "mul_", "sum", "exp", "_softmax"}

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        name = func._schema.name.removeprefix("aten::")
        self.count += name in self.NAMES or name.startswith("_scaled_dot_product")
        return func(*args, **(kwargs or {}))


class Work(Multiplications):
    """Counts the numbers that operations multiply, and those that others read or make: the most of one tensor of each.

    Views read nothing. What is made of many numbers takes as many, whichever operations make it.
    """

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        with self:
            made = func.decompose(*args, **(kwargs or {}))  # in inference mode nobody else does
        if made is not NotImplemented:
            return made
        before = self.count
        made = super().__torch_dispatch__(func, types, args, kwargs)
        if self.count == before and not func.is_view:
            touched = tree_leaves((args, kwargs, made))
            self.count += max((one.numel() for one in touched if isinstance(one, torch.Tensor)), default=0)
        return made


class Largest(TorchDispatchMode):
    """Notes how many numbers the largest tensor holds that an operation of a call makes.

    A view takes no memory of its own, so it counts as what lies behind it. What writes into a tensor makes none.
    """

    def __init__(self) -> None:
        super().__init__()
        self.size = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        results = func(*args, **(kwargs or {}))
        for result in held.leaves_in(results, torch.Tensor):
            if any(result is one for one in args):
                continue
            behind = result.untyped_storage().nbytes() // result.element_size()
            self.size = max(self.size, min(result.numel(), behind))
        return results


class Kept:
    """Notes the tensors that a call keeps for its gradients: what torch saves, and attributes of autograd functions."""

    def __init__(self) -> None:
        self.tensors: list[torch.Tensor] = []
        self.hooks = torch.autograd.graph.saved_tensors_hooks(self._saved, lambda tensor: tensor)

    def __enter__(self) -> Kept:
        self.hooks.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self.hooks.__exit__(*error)

    def _saved(self, tensor: torch.Tensor) -> torch.Tensor:
        self.tensors.append(tensor.detach())
        return tensor

    def size(self, outputs: list[torch.Tensor]) -> int:
        """How many numbers are kept for the gradients of these outputs; attributes of an autograd function count."""
        found, waiting, known = [], [output.grad_fn for output in outputs], set()
        while waiting and len(known) < held.MOST_OBJECTS:
            node = waiting.pop()
            if node is None or id(node) in known:
                continue
            known.add(id(node))
            attributes = getattr(node, "__dict__", None)
            found += held.tensors_of(attributes) if attributes else []
            waiting += [before for before, _ in node.next_functions]
        return held.size_of(self.tensors + found)
