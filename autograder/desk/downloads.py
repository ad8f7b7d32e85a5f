"""The pages on which an instructor drops a platform's download, sees what is recognised in it, and takes it in."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anyio import CapacityLimiter, WouldBlock
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from ..grading.store import FOLDER
from ..intake.layouts import LAYOUTS
from ..intake.owners import is_plain
from ..intake.unpacking import is_archive
from ..report import lesson
from . import bodies, handing, pages
from .addresses import Addresses
from .app import check_post, desk_of, form_of_instructor, token_of, visitor_of
from .visitors import FORM_TOKEN, INSTRUCTOR, Refused

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.routing import BaseRoute

    from ..course import Assignment
    from .desk import Desk
    from .visitors import Visitor

PATH = "download"
FILES = 2  # a download, and Moodle's worksheet with it
LARGEST = 2**30  # bytes of both: 500 students' notebooks with pictures
RECEIVING = 900.0  # seconds in which they have to arrive: 1.2 MB a second
FREE = 2**30  # bytes that stay free on the disk
READING = 600.0  # seconds that `collect` may take
KEPT = 3600.0  # seconds for which files wait to be taken, since somebody looked at them
MOST_KEPT = 10  # downloads of an assignment that wait
LONGEST = 500  # characters of an option
FIELDS, FORM = 8, 8_000  # fields and bytes of a form without a file, at most
IDS = 16  # bytes of a download's id
TOO_LARGE = f"A download may have at most {LARGEST // 2**20} MB: collect this one with `autograder collect`."
GONE = "This download is no longer here: it was taken or forgotten, or waited for too long. Drop it again."
OPTIONS = {"system": "--from", "timezone": "--timezone", "pattern": "--pattern"}  # of `collect`, by their fields
DRY = ("--dry-run",)
COLLECT = [sys.executable, "-P", "-m", "autograder", "collect"]  # a course's folder holds no modules for the kit
LOOKING = (  # the same, which ends with the desk; what is being taken is taken to the end
    "import sys\nfrom autograder import bounds, cli\nbounds.end_with(int(sys.argv.pop(1)))\nsys.exit(cli.main())"
)


def routes() -> Sequence[BaseRoute]:
    """The routes of these pages, below the desk's base."""
    return [
        Route(f"/instructor/{{assignment}}/{PATH}", form, methods=["GET"]),
        Route(f"/instructor/{{assignment}}/{PATH}", drop, methods=["POST"]),
        Route(f"/instructor/{{assignment}}/{PATH}/{{id}}", preview, methods=["GET"]),
        Route(f"/instructor/{{assignment}}/{PATH}/{{id}}", settle, methods=["POST"]),
    ]


@dataclass(frozen=True)
class Report:
    """What `collect` says of a download, as its --format json has it; `problem` if it could not read it at all."""

    taken: Sequence[Mapping[str, Any]] = ()
    problems: Sequence[str] = ()
    report: Sequence[str] = ()
    problem: str = ""


async def form(request: Request) -> Response:
    """Where a download is dropped."""
    visitor = await visitor_of(request, INSTRUCTOR)
    desk = desk_of(request)
    about = await run_in_threadpool(handing.assignment_of, desk, request.path_params["assignment"])
    return _page(desk, visitor, token_of(request), about)


async def drop(request: Request) -> Response:
    """Keep the files of a download until they are taken; leads to the page that shows what is in them."""
    await visitor_of(request, INSTRUCTOR)
    desk = desk_of(request)
    about = await run_in_threadpool(handing.assignment_of, desk, request.path_params["assignment"])
    with _turn(request.app.state.arriving, "arrive"):
        await run_in_threadpool(_require_disk, desk, request.app.state.arriving.borrowed_tokens)
        async with bodies.large_form(request, FILES, LARGEST, RECEIVING, TOO_LARGE) as sent:
            check_post(request, bodies.text_in(sent, FORM_TOKEN))
            files = [one for one in sent.getlist("download") if isinstance(one, UploadFile) and one.filename]
            id = await run_in_threadpool(_keep, desk, about, files)
    return RedirectResponse(Addresses(desk, about.name).download(id), 303)


async def preview(request: Request) -> Response:
    """What is recognised in a download, file by file; nothing of it is taken yet."""
    visitor = await visitor_of(request, INSTRUCTOR)
    desk, options = desk_of(request), _options(request.query_params)
    about, folder = await run_in_threadpool(_download_of, desk, request.path_params)
    with _turn(request.app.state.collecting, "are read"):
        found = await run_in_threadpool(_collected, desk, about, folder, options, DRY)
    return _page(desk, visitor, token_of(request), about, folder=folder, found=found, options=options)


async def settle(request: Request) -> Response:
    """Take a download into `submitted/`, or forget it."""
    visitor, sent = await form_of_instructor(request, FIELDS, FORM)
    desk, options = desk_of(request), _options(sent)
    about, folder = await run_in_threadpool(_download_of, desk, request.path_params)
    if sent.get("do") != "take":
        await run_in_threadpool(shutil.rmtree, folder, True)
        return RedirectResponse(Addresses(desk, about.name).download(), 303)
    with _turn(request.app.state.collecting, "are read"):
        found = await run_in_threadpool(_collected, desk, about, folder, options)
    if found.problem:
        return _page(desk, visitor, token_of(request), about, folder=folder, found=found, options=options, status=422)
    await run_in_threadpool(shutil.rmtree, folder, True)
    return _page(desk, visitor, token_of(request), about, found=found)


@contextmanager
def _turn(limiter: CapacityLimiter, what: str) -> Iterator[None]:
    """A place among the downloads that `arrive` or `are read`, each for minutes. Raises Refused if all are taken."""
    place = object()
    try:
        limiter.acquire_on_behalf_of_nowait(place)
    except WouldBlock:
        many = f"{limiter.total_tokens:.0f} downloads {what} at this moment"
        raise Refused(f"{many}: try again when one of them is done.", 429, 30.0) from None
    try:
        yield
    finally:
        limiter.release_on_behalf_of(place)


def _page(
    desk: Desk,
    visitor: Visitor,
    token: str,
    about: Assignment,
    folder: Path | None = None,
    found: Report | None = None,
    options: Mapping[str, str] | None = None,
    status: int = 200,
) -> Response:
    """The page: without `found` the form, with a `folder` what would be taken from it, else what was taken."""
    said = {"folder": folder, "found": found, "options": options or {}, "systems": LAYOUTS, "number": about.name[:2]}
    said |= {"at": Addresses(desk, about.name), "lesson": lesson.of(about).title or about.name}
    said |= {"files": [path.name for path in _files_in(folder)] if folder else []}
    return HTMLResponse(pages.render(desk, "class_download.html.j2", token, visitor, **said), status)


# --- the files until they are taken ---------------------------------------------------------------


def _place(desk: Desk, about: Assignment) -> Path:
    """The folder with an assignment's downloads: in the course's own, which several desks share."""
    return Path(desk.root) / FOLDER / "downloads" / about.name


def _require_disk(desk: Desk, many: int) -> None:
    """Raises Refused if there is no room for so `many` downloads, which lie among temporary files before they are kept.

    Where these are on the course's disk, a download lies there twice for a moment.
    """
    for folder in (desk.root, tempfile.gettempdir()):
        if shutil.disk_usage(folder).free < 2 * LARGEST * many + FREE:
            raise Refused(f"The disk of {folder} is nearly full: make room, then drop the download again.", 507)


def _keep(desk: Desk, about: Assignment, files: Sequence[UploadFile]) -> str:
    """Keep files under their own names; returns the id of the download. Raises Refused."""
    if not files:
        raise Refused("No file was chosen: choose the download, then look at it.", 422)
    for file in files:
        _require_name(file.filename or "")
    place, id = _place(desk, about), secrets.token_hex(IDS)
    folder = place / id
    try:
        place.mkdir(parents=True, exist_ok=True)
        _forget_old(place)
        folder.mkdir(mode=0o700)
        for file in files:
            with open(folder / (file.filename or ""), "xb") as target:
                shutil.copyfileobj(file.file, target)
    except (PermissionError, FileExistsError) as problem:
        shutil.rmtree(folder, ignore_errors=True)
        if Path(problem.filename).parent == folder:
            raise Refused("Two files have the same name: choose each of them once.", 422) from None
        raise Refused(f"{place} cannot be written: give the desk's account the right to it.", 507) from None
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)  # half a download is none
        raise
    return id


def _require_name(name: str) -> None:
    """Raises Refused unless a file's name is one that `collect` takes: it may tell whose hand-in an archive is."""
    if not is_plain(name):
        raise Refused("The file's name cannot be kept: give it a short one without slashes.", 422)
    if not is_archive(name) and not name.lower().endswith(".csv"):
        raise Refused(
            f"{name[:80]} is no download of a platform: choose the .zip or .tar.gz as it came, with Moodle also the"
            " grading worksheet (.csv).",
            422,
        )


def _forget_old(place: Path) -> None:
    """Make room for a download: remove those of any assignment that nobody took in time, and the oldest of many."""
    for folder in place.parent.glob("*/*"):
        if _used(folder) < time.time() - KEPT:
            shutil.rmtree(folder, ignore_errors=True)
    for folder in sorted(place.iterdir(), key=_used, reverse=True)[MOST_KEPT - 1 :]:
        shutil.rmtree(folder, ignore_errors=True)


def _used(folder: Path) -> float:
    """When a download was last used; another desk may have removed it since it was listed."""
    try:
        return folder.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def _download_of(desk: Desk, path: Mapping[str, str]) -> tuple[Assignment, Path]:
    """The assignment and the folder of the download that a path names. Raises Refused."""
    about = handing.assignment_of(desk, path["assignment"])
    return about, _folder_of(desk, about, path["id"])


def _folder_of(desk: Desk, about: Assignment, id: str) -> Path:
    """The folder of a download, which is kept for a while from now on. Raises Refused."""
    is_one = len(id) == 2 * IDS and id.isascii() and id.isalnum()
    folder = _place(desk, about) / id
    try:
        if is_one:
            os.utime(folder)
            return folder
    except FileNotFoundError:
        pass
    raise Refused(GONE, 404)


def _files_in(folder: Path) -> list[Path]:
    """The files of a download. Raises Refused if somebody else has taken or forgotten it meanwhile."""
    try:
        return sorted(folder.iterdir())
    except FileNotFoundError:
        raise Refused(GONE, 404) from None


# --- what is in them ------------------------------------------------------------------------------


def _options(sent: Mapping[str, str]) -> dict[str, str]:
    """How `collect` is to read a download, by the fields of a form."""
    return {name: sent[name].strip()[:LONGEST] for name in OPTIONS if sent.get(name, "").strip()}


def _collected(
    desk: Desk, about: Assignment, folder: Path, options: Mapping[str, str], more: Sequence[str] = ()
) -> Report:
    """What `collect` says: a process of its own, since what strangers packed is read there."""
    paths = [str(path) for path in _files_in(folder)]
    how = [f"{OPTIONS[name]}={value}" for name, value in options.items()]
    begin = [sys.executable, "-P", "-c", LOOKING, str(os.getpid()), "collect"] if more == DRY else COLLECT
    command = [*begin, about.name, *paths, "--format", "json", *how, *more]
    try:
        # whoever is killed leaves its temporary files, which may be all that the archive holds
        with tempfile.TemporaryDirectory(prefix="autograder-download-") as scratch:
            done = subprocess.run(
                command,
                cwd=desk.root,
                env={**os.environ, "PYTHONIOENCODING": "utf-8", "TMPDIR": scratch},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=READING,
            )
    except subprocess.TimeoutExpired:
        return Report(problem=f"It could not be read in {READING:.0f} s: collect it with `autograder collect`.")
    except (OSError, ValueError):  # of an option with a NUL, for instance
        return Report(problem="`autograder collect` could not be started with these options.")
    try:
        said = json.loads(done.stdout)
        return Report(said["taken"], said["problems"], said["report"])
    except (ValueError, KeyError, TypeError):
        sentence = done.stderr.decode("utf-8", "replace").strip() or "`autograder collect` ended without a word."
        return Report(problem=sentence.removeprefix("autograder: ").replace(f"{folder}{os.sep}", "")[-2_000:])
