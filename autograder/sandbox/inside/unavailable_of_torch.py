"""Handles what torch offers and is unavailable while code is graded: its compiler, workers, threads, and a GPU."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, Any

import torch
import torch.cuda.profiler
from torch.utils.data import DataLoader

if TYPE_CHECKING:
    from collections.abc import Callable


def install(uncompiled: Callable[..., Any], tell_of_workers: Callable[[], None]) -> None:
    """Install stand-ins. Only for a child, see unavailable.py, which knows what to say."""
    _telling.append(tell_of_workers)
    torch.compile = uncompiled
    DataLoader._get_iterator = _without_workers
    torch.set_num_threads, torch.get_num_threads = _remember_threads, lambda: _threads_asked_for[-1]
    if not torch.cuda.is_available():
        _install_idle_gpu()


_telling: list[Callable[[], None]] = []
_get_iterator = DataLoader._get_iterator


def _without_workers(self: DataLoader[Any]) -> Any:
    if self.num_workers:
        for tell in _telling:
            tell()
        self.num_workers = self.timeout = 0
    return _get_iterator(self)


_set_num_threads, _threads_asked_for = torch.set_num_threads, [1]


def _remember_threads(number: int) -> None:
    """Replaces torch.set_num_threads: torch keeps to one thread, since failing to start others ends the process."""
    _set_num_threads(min(number, 1))
    _threads_asked_for.append(number)


# --- what code does around its work on a GPU: it changes no result, so without a GPU there is nothing to do -----------

IDLE = {
    torch.cuda: "init synchronize set_device set_per_process_memory_fraction ipc_collect empty_cache"
    " reset_peak_memory_stats reset_max_memory_allocated reset_max_memory_cached reset_accumulated_memory_stats",
    torch.cuda.memory: "set_per_process_memory_fraction empty_cache reset_peak_memory_stats reset_max_memory_allocated"
    " reset_max_memory_cached reset_accumulated_memory_stats _record_memory_history",
    torch.cuda.nvtx: "range_push range_pop range_start range_end mark",
    torch.cuda.profiler: "start stop",
    torch.accelerator: "synchronize empty_cache",
    torch.mps: "synchronize empty_cache",
    torch.xpu: "synchronize empty_cache",
}


def _install_idle_gpu() -> None:
    """Let code wait for a GPU, time it, mark ranges on it and ask how much of its memory is in use, though it is none.

    Whatever would put a tensor on the GPU still raises an error.
    """
    for module, names in IDLE.items():
        for name in names.split():
            if hasattr(module, name):
                setattr(module, name, _giving(None))
    for module in (torch.cuda, torch.cuda.memory):
        setattr(module, "memory_summary", _giving("No memory of a GPU is in use."))  # noqa: B010  unknown to pyright
        setattr(module, "memory_snapshot", _giving([]))  # noqa: B010
    torch.mps.current_allocated_memory, torch.mps.driver_allocated_memory = _giving(0), _giving(0)
    torch.cuda.Event, torch.cuda.Stream = _Event, _Stream  # pyright: ignore[reportAttributeAccessIssue]  # stand-ins
    torch.cuda.current_stream, torch.cuda.default_stream = _giving(_Stream()), _giving(_Stream())
    torch.cuda.stream = _giving(contextlib.nullcontext())
    torch.cuda.device = _giving(contextlib.nullcontext())  # pyright: ignore[reportAttributeAccessIssue]
    torch.autograd.profiler.emit_nvtx = _giving(contextlib.nullcontext())  # pyright: ignore[reportAttributeAccessIssue]
    torch.Tensor.pin_memory = lambda self, *args, **kwargs: self


def _giving(value: Any) -> Callable[..., Any]:
    """A new function that gives `value` whatever it is given; torch._dynamo wants another one for each name."""
    return lambda *args, **kwargs: value


class _Stream:
    """Replaces torch.cuda.Stream: all work is done already when it is waited for."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    synchronize = wait = wait_event = wait_stream = _giving(None)

    def query(self) -> bool:
        return True

    def record_event(self, event: _Event | None = None) -> _Event:
        event = event or _Event()
        event.record()
        return event


class _Event(_Stream):
    """Replaces torch.cuda.Event, by the clock."""

    def record(self, stream: object = None) -> None:
        self.at = time.perf_counter()

    def elapsed_time(self, end: _Event) -> float:
        """Milliseconds from this event to `end`."""
        return 1e3 * (end.at - self.at)
