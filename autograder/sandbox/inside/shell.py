"""The IPython shell that runs a notebook's cells inside the sandbox and collects their outputs, up to limits."""

from __future__ import annotations

import ast
import base64
import io
import re
import sys
import traceback
from types import ModuleType
from typing import TYPE_CHECKING, Any

import matplotlib
from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.pylabtools import select_figure_formats
from IPython.utils.text import LSString, SList
from matplotlib_inline.backend_inline import flush_figures
from traitlets.config import Config

from . import unavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from IPython.core.formatters import DisplayFormatter

MAX_TEXT = 20_000  # characters that a cell may show
MAX_IMAGE = 500_000  # bytes of one picture
MAX_OUTPUTS = 30  # outputs that a cell may show
MAX_NOTEBOOK = 3_000_000  # bytes that a whole notebook may show
# Magics, shell commands and questions can only be at the start of a line, after an equals sign, or at its end.
UNKNOWN_MAGIC = re.compile(r"(\s*)%%(\w+)[^\n]*\n")  # the first line of a cell
MAYBE_SPECIAL = re.compile(r"^[ \t\f]*[!?%,;/]|=[\s\\]*[%!]|\?[ \t\f\r]*$", re.MULTILINE)
SHOWN_TYPES = ("text/plain", "image/png")  # the types that feedback can show without trusting them


class Outputs:
    """The outputs of the running cell, as in a notebook file. What exceeds a limit is dropped, and one line says so."""

    def __init__(self) -> None:
        self.total = 0
        self.start()

    def start(self) -> None:
        self.items: list[dict[str, Any]] = []
        self.text_left = MAX_TEXT
        self.cut = False

    def stream(self, name: str, text: str) -> None:
        text = text[: self.text_left + 1]
        if len(text) > self.text_left:
            text = text[: self.text_left]
            self.cut = True
        if not text or not self._room(len(text)):
            return
        self.text_left -= len(text)
        if self.items and self.items[-1].get("name") == name:
            self.items[-1]["text"] += text
        else:
            self.items.append({"output_type": "stream", "name": name, "text": text})

    def show(self, data: dict[str, Any], execute_result: bool = False) -> None:
        """Add a rich output. Only types that feedback can show are kept."""
        kept = {}
        for kind in SHOWN_TYPES:
            value = data.get(kind)
            if kind == "image/png" and isinstance(value, bytes):
                value = base64.b64encode(value).decode()
            if isinstance(value, str):
                limit = MAX_IMAGE if kind == "image/png" else self.text_left
                if len(value) <= limit:
                    kept[kind] = value
                elif kind == "text/plain":
                    kept[kind], self.cut = value[:limit], True
        if not kept or not self._room(sum(map(len, kept.values()))):
            return
        self.text_left -= len(kept.get("text/plain", ""))
        kind = "execute_result" if execute_result else "display_data"
        self.items.append({"output_type": kind, "data": kept, "metadata": {}})

    def error(self, kind: str, message: str, lines: list[str]) -> None:
        if self._room(sum(map(len, lines))):
            text = "\n".join(lines)[-MAX_TEXT:].split("\n")
            self.items.append(
                {"output_type": "error", "ename": kind[:200], "evalue": message[:2000], "traceback": text}
            )

    def finish(self) -> list[dict[str, Any]]:
        if self.cut:
            self.items.append({"output_type": "stream", "name": "stderr", "text": "\n[the rest was cut]\n"})
        return self.items

    def end_with(self, sentences: Iterable[str]) -> None:
        """Add sentences of the kit, regardless of the limits, unless an output already contains them."""
        shown = "\n".join(str(line) for item in self.items for line in (item.get("text"), item.get("evalue")))
        for sentence in sentences:
            if sentence not in shown:
                self.items.append({"output_type": "stream", "name": "stderr", "text": f"\n{sentence}\n"})

    def _room(self, size: int) -> bool:
        if len(self.items) >= MAX_OUTPUTS or self.total + size > MAX_NOTEBOOK:
            self.cut = True
            return False
        self.total += size
        return True


class _Stream(io.TextIOBase):
    encoding = "utf-8"
    errors = "replace"

    def __init__(self, outputs: Outputs, name: str) -> None:
        self.outputs = outputs
        self.name = f"<{name}>"
        self._name = name

    def write(self, text: str) -> int:
        self.outputs.stream(self._name, str(text))
        return len(text)

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return 1 if self._name == "stdout" else 2  # /dev/null, for code that insists on a descriptor

    def close(self) -> None:
        pass  # each cell has new streams, but a logger may keep this one


class _Publisher(DisplayPublisher):
    outputs: Outputs

    def publish(self, data: dict[str, Any], metadata: Any = None, **kwargs: Any) -> None:
        self.outputs.show(data)

    def clear_output(self, wait: bool = False) -> None:
        self.outputs.items.clear()


class _Hook(DisplayHook):
    outputs: Outputs

    def __call__(self, result: Any = None) -> None:
        if result is None or self.quiet():
            return
        data, _ = self.compute_format_data(result)
        self.outputs.show(data, execute_result=True)
        self.update_user_ns(result)


class Shell(InteractiveShell):
    """An interactive shell without history, processes, input or threads, which collects its outputs."""

    display_formatter: DisplayFormatter
    display_pub: _Publisher
    displayhook: _Hook

    def __init__(self) -> None:
        config = Config()
        config.HistoryManager.enabled = False
        config.InteractiveShell.colors = "nocolor"
        config.InteractiveShell.autocall = 0
        super().__init__(config=config, display_pub_class=_Publisher, displayhook_class=_Hook)
        self.outputs = Outputs()
        self.display_pub.outputs = self.outputs
        self.displayhook.outputs = self.outputs
        self.input_transformer_manager.do_token_transforms = self._without_search(
            self.input_transformer_manager.do_token_transforms
        )
        self.cell_name = "<cell>"
        self.compile.get_code_name = lambda raw_code, transformed_code, number: self.cell_name
        self.user_ns.update(exit=_stay, quit=_stay)
        self.db = {}  # the memory of %cd and %store; IPython's lies in a folder of the parent

    @staticmethod
    def _without_search(transform: Callable[[list[str]], list[str]]) -> Callable[[list[str]], list[str]]:
        """Skip IPython's token-by-token search for special syntax if there is none: it takes longer than most cells."""
        return lambda lines: transform(lines) if MAYBE_SPECIAL.search("".join(lines)) else lines

    def init_virtualenv(self) -> None:
        pass

    def init_io(self) -> None:
        pass

    def enable_gui(self, gui: Any = None) -> None:
        pass

    def enable_matplotlib(self, gui: Any = None) -> tuple[str, str]:
        """Put pictures into the outputs, whatever window `%matplotlib` asks for."""
        return "inline", matplotlib.get_backend()

    def system(self, cmd: str) -> None:
        unavailable.tell(unavailable.NO_PROCESS)

    system_piped = system_raw = system

    def getoutput(self, command: str, split: bool = True, depth: int = 0) -> SList | LSString:
        unavailable.tell(unavailable.NO_PROCESS)
        return SList() if split else LSString()

    async def run_code(self, code_obj: Any, result: Any = None, *, async_: bool = False) -> bool:
        """Run one statement. If it fails because something is unavailable here, the cell goes on with the next.

        From then on it also goes on after other errors, which may be consequences. On the student's machine the
        statement worked and so did those below it, which may define an answer.
        """
        first = result and result.error_in_exec
        failed = await super().run_code(code_obj, result, async_=async_)
        if not failed or result is None:
            return failed
        error = result.error_in_exec
        sentence = unavailable.sentence_for(error)
        if sentence is None and unavailable.wants_gpu(code_obj, error):
            sentence = unavailable.NO_GPU
        if sentence:
            unavailable.tell(sentence)
            unavailable.note_names(code_obj, error, sentence, self.user_ns)
        if first is not None:
            result.error_in_exec = first
        return not (unavailable.has_messages() and isinstance(error, Exception))

    def enable_pictures(self) -> None:
        """Let matplotlib draw into the outputs, whether or not the notebook says `%matplotlib inline`."""
        matplotlib.use("module://matplotlib_inline.backend_inline")
        matplotlib.use = lambda *args, **kwargs: None  # no window can be opened, so pictures stay in the outputs
        matplotlib.interactive(True)  # as in a notebook: figures left open are shown when the cell ends
        select_figure_formats(self, {"png"})
        self.events.register("post_execute", flush_figures)

    def showtraceback(self, exc_tuple: Any = None, *args: Any, **kwargs: Any) -> None:
        handled: Any = sys.exc_info()
        kind, error, _ = exc_tuple or handled
        unavailable.sentence_for(error)  # what it says may be this
        try:
            lines = self.InteractiveTB.stb2text(self.InteractiveTB.structured_traceback(*handled)).split("\n")
        except Exception:
            lines = traceback.format_exception_only(kind, error)
        try:
            message = str(error)
        except Exception:
            message = ""
        self.outputs.error(kind.__name__, message, lines)

    showsyntaxerror = lambda self, filename=None, running_compiled_code=False, **kwargs: self.showtraceback()  # noqa: E731

    def run_one(self, source: str, name: str) -> tuple[list[dict[str, Any]], BaseException | None]:
        """Run a cell: (its outputs, the error that ended it or None). `name` is its file name in tracebacks."""
        self.outputs.start()
        unavailable.pop_messages()
        self.cell_name = name
        there = {
            one: issubclass(type(value), ModuleType) for one, value in self.user_ns.items() if not one.startswith("_")
        }
        source = self._with_magics_that_are_there(source)
        streams = sys.stdout, sys.stderr, sys.stdin
        sys.stdout, sys.stderr = _Stream(self.outputs, "stdout"), _Stream(self.outputs, "stderr")
        try:
            result = self.run_cell(source, store_history=False)
        finally:
            sys.stdout, sys.stderr, sys.stdin = streams
        gone = there.keys() - self.user_ns.keys()
        unavailable.note_removed(gone, [one for one in gone if there[one]], source, name)
        outputs = self.outputs.finish()
        self.outputs.end_with(unavailable.pop_messages())
        return outputs, result.error_before_exec or result.error_in_exec

    def _with_magics_that_are_there(self, source: str) -> str:
        """A cell of Python below a magic that is not installed here, such as `%%memit`, without that: it runs."""
        found = UNKNOWN_MAGIC.match(source)
        if not found or self.find_cell_magic(found[2]) is not None:
            return source
        try:
            ast.parse(self.transform_cell(source[found.end() :]))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return source
        unavailable.tell(unavailable.NO_MAGIC.format(f"%%{found[2]}"))
        return f"{found[1]}#\n{source[found.end() :]}"


def _stay(code: object = None) -> None:
    """Replaces exit() and quit(). The cell goes on after them, as in a notebook."""
    unavailable.tell(unavailable.NO_EXIT)
