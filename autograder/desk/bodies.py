"""Reads what requests bring along, within limits of size and time, so that no sender can fill the desk's memory."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager

from python_multipart.exceptions import FormParserError
from starlette.datastructures import FormData, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import ClientDisconnect, Request

from ..submission.read import CLEAR, MAX_FILE
from .visitors import Refused

SECONDS = 60.0  # for a whole body
LARGEST = 2 * MAX_FILE  # bytes of a notebook with its outputs, which are not kept of a large one
MOST_AT_ONCE = 12 * MAX_FILE  # bytes of all bodies that are being received
MOST_OF_ONE = 2  # bodies of one person
FORM = 64 * 2**10  # bytes that a form needs beside its file
TOO_LARGE = f"The file has more than the {LARGEST // 2**20} MB allowed: {CLEAR}."
DIGITS = 19  # of a length that is read
FIELDS = 4  # of a form with a file, at most
NOT_OURS = "This form is not the desk's."  # nor as small as these are
PLAIN = "application/x-www-form-urlencoded"
NOTEBOOKS = ("application/x-ipynb+json", "application/json", "application/octet-stream")


async def fields(request: Request, most: int, largest: int, too_large: str) -> dict[str, str]:
    """The at most `most` fields of a form without a file. Raises Refused, with `too_large` above `largest` bytes."""
    if _kind(request) != PLAIN:  # the parts of a multipart form may name a charset each, which Starlette looks up
        raise Refused("Send the form of the desk's own page.", 415)
    length = _announced(request)
    if length is None or length > largest:
        raise Refused(too_large, 413)
    try:
        async with asyncio.timeout(SECONDS), request.form(max_files=0, max_fields=most) as form:
            return {name: value for name, value in form.items() if isinstance(value, str)}
    except TimeoutError:
        raise Refused(f"The form did not arrive within {SECONDS:.0f} s: send it again.", 408) from None
    except ClientDisconnect:
        raise Refused("The form was cut off on its way: send it again.", 400) from None


def _kind(request: Request) -> str:
    """The media type of a body, without its parameters."""
    return request.headers.get("content-type", "").split(";")[0].strip().lower()


def _announced(request: Request) -> int | None:
    """The bytes that a body is said to have; None if no number that is one is said."""
    return number_in(request.headers.get("content-length", ""), DIGITS)


def number_in(text: str, digits: int) -> int | None:
    """A whole number of at most so many digits; None if the text is none: thousands take long to convert."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= digits else None


class Room:
    """What all bodies that are being received and read have in memory, and how many are whose, in the loop's thread."""

    held = 0
    of: Counter[str] = Counter()


class Body:
    """The body of one request of an `owner`'s. Use it in a `with`, as long as what it has read is in memory.

    The `with` raises Refused if its owner sends several already: nobody's may fill the room for all.
    """

    def __init__(self, request: Request, owner: str) -> None:
        self.request = request
        self.owner = owner
        self.size = 0

    def __enter__(self) -> Body:
        if Room.of[self.owner] >= MOST_OF_ONE:
            raise Refused(f"You hand in {MOST_OF_ONE} files already: wait until they have arrived.", 429, 5.0)
        Room.of[self.owner] += 1
        return self

    def __exit__(self, *exc: object) -> None:
        Room.held -= self.size
        Room.of[self.owner] -= 1
        if not Room.of[self.owner]:
            del Room.of[self.owner]

    async def notebook(self) -> bytes:
        """The notebook that is the body. Raises Refused."""
        kind = _kind(self.request)
        if kind not in NOTEBOOKS:
            raise Refused(f"A notebook is sent as {NOTEBOOKS[0]}, not as {kind[:60]!a}.", 415)
        return b"".join([chunk async for chunk in self._pieces(LARGEST)])

    async def form(self, token: str) -> tuple[bytes, str]:
        """The file of a form, and its field `token`. Raises Refused."""
        if not self.request.headers.get("content-type", "").lower().startswith("multipart/form-data"):
            raise Refused("Choose your notebook in the form of the page, and hand it in there.", 415)
        found = await _parsed(self.request, self._pieces(LARGEST + FORM), 1)
        try:
            file = found.get("notebook")
            if not isinstance(file, UploadFile) or not file.filename:
                raise Refused("No file was chosen: choose your notebook, then hand it in.", 422)
            return await file.read(), text_in(found, token)
        finally:
            await found.close()

    async def _pieces(self, most: int) -> AsyncGenerator[bytes, None]:
        """The pieces of the body. Raises Refused if it is too large, too slow, cut off, or if there is no room."""
        async for chunk in _arriving(self.request, most, TOO_LARGE, SECONDS):
            self.size += len(chunk)
            Room.held += len(chunk)
            if Room.held > MOST_AT_ONCE:
                raise Refused("Too much is being handed in at this moment: try again in a minute.", 503, 30.0)
            yield chunk


@asynccontextmanager
async def large_form(
    request: Request, files: int, most: int, seconds: float, too_large: str
) -> AsyncIterator[FormData]:
    """A form with at most so many `files`, which lie on the disk as long as the `with` lasts. Raises Refused."""
    found = await _parsed(request, _arriving(request, most, too_large, seconds), files)
    try:
        yield found
    finally:
        await found.close()


def text_in(form: FormData, name: str) -> str:
    """A field of a form that is no file; "" if it has none."""
    said = form.get(name)
    return said if isinstance(said, str) else ""


async def _parsed(request: Request, pieces: AsyncGenerator[bytes, None], files: int) -> FormData:
    """A form with at most so many files. Raises Refused."""
    parser = MultiPartParser(request.headers, pieces, max_files=files, max_fields=FIELDS, max_part_size=FORM)
    try:
        return await parser.parse()
    except (MultiPartException, FormParserError, ValueError, LookupError):  # of a charset that no one knows, too
        raise Refused("The form could not be read: choose your file on the page once more.", 400) from None


async def _arriving(request: Request, most: int, too_large: str, seconds: float) -> AsyncGenerator[bytes, None]:
    """The pieces of a body as they come. Raises Refused if it is too large, too slow, or cut off."""
    announced = _announced(request)
    if announced is not None and announced > most:
        raise Refused(too_large, 413)
    loop, pieces, size = asyncio.get_running_loop(), request.stream(), 0
    until = loop.time() + seconds
    try:
        while (chunk := await asyncio.wait_for(anext(pieces, None), until - loop.time())) is not None:
            size += len(chunk)
            if size > most:
                raise Refused(too_large, 413)
            yield chunk
    except TimeoutError:
        raise Refused(f"The file did not arrive within {seconds:.0f} s: send it again.", 408) from None
    except ClientDisconnect:
        raise Refused("The file was cut off on its way: send it again.", 400) from None
