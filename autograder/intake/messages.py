"""Reads untrusted e-mail messages (.eml) within bounds of memory and time: their attachments, and who sent them when.

Python's parser makes an object of each part and a step of each line, for each level of nesting; so all three are
counted before it is called. What a part says of itself is read by the older rules (`compat32`), which take no minutes
for a hostile line. Messages within a message are not opened: whoever forwards one may have written it.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from email import message_from_bytes, policy
from email.header import decode_header, make_header
from email.message import EmailMessage
from email.message import Message as Part
from email.parser import BytesHeaderParser
from email.utils import parsedate_to_datetime
from typing import IO, cast

from ..submission import kinds
from ..submission.read import StrPath
from ..verdict import printable
from .unpacking import Opener, Refused, is_archive, is_message

MAX_MESSAGE = 40 * 2**20  # bytes; as base64, a notebook of the largest size has 27 MB
MAX_LINES = 1_000_000
MAX_PARTS = 2_000  # lines that may begin a part
MAX_NESTED = 30  # parts that may hold others
MAX_HEADERS = 2**18  # bytes of the headers of a whole message,
MAX_HEADER = 2_000  # and characters of one
SIGNATURES = ("pkcs7-signature", "x-pkcs7-signature", "pgp-signature")  # what programs attach, and no student

HEADER = re.compile(rb"^content-[a-z-]+:[^\n]*(?:\n[ \t][^\n]*)*", re.IGNORECASE | re.MULTILINE)
CONTAINER = re.compile(rb"^content-type:.*(?:multipart|message|=\?)", re.IGNORECASE | re.DOTALL)
RELEVANT = re.compile(rb"^(?:from[ \t]*|subject|received):[^\n]*(?:\n[ \t][^\n]*)*", re.IGNORECASE | re.MULTILINE)
BLANK = re.compile(rb"\n\n")
# what a header `From` says beside the address, and the rest of one that every mail server reads as the same address
ASIDE = re.compile(r'"(?:[^"\\]|\\.)*"|\((?:[^()\\]|\\.)*\)', re.DOTALL)
ADDRESS = r"[\w.!#$%&'*+/=?^`{|}~-]+@[\w-]+(?:\.[\w-]+)*"
ONE_SENDER = re.compile(rf'[^<>,:;()"]*<\s*({ADDRESS})\s*>\s*|\s*({ADDRESS})\s*', re.ASCII)


@dataclass(frozen=True)
class Sender:
    """The sender, subject and time in the headers of a message; missing ones are empty.

    `name`, `address` and `subject` were written by whoever sent it. `time` (UTC) was not: it is when the last mail
    server took the message in.
    """

    name: str = ""
    address: str = ""
    subject: str = ""
    time: datetime | None = None


class Message:
    """The files attached to a message, as `unpacking.Zip` shows those in a zip.

    Raises Refused if none may be a notebook, or an archive with one.
    """

    skipped = 0

    def __init__(self, path: StrPath) -> None:
        data = _bounded(path)
        message = message_from_bytes(data, policy=policy.compat32)
        found = [(name, part) for part in _outer_parts(message) if (name := _name_of(part))]
        if not any(_may_be_one(name) for name, _ in found):
            raise Refused("it has no notebook attached")
        self.parts = list(_told_apart(found))

    def names(self) -> list[str]:
        return [name for name, _ in self.parts]

    def regular_files(self) -> Iterator[tuple[str, Opener]]:
        for name, part in self.parts:
            yield name, lambda part=part: _opened(part)

    def close(self) -> None:
        self.parts = []


def sender(path: StrPath) -> Sender:
    """Who sent a message, and when. What cannot be read is left empty."""
    with open(path, "rb") as file:
        head = BLANK.split(file.read(MAX_HEADERS).replace(b"\r\n", b"\n").replace(b"\r", b"\n"), maxsplit=1)[0]
    relevant = [line[0] for line in RELEVANT.finditer(head)]
    lines = [line for line in relevant if len(line) <= MAX_HEADER]
    headers = BytesHeaderParser(policy=policy.default).parsebytes(b"\n".join([*lines, b"", b""]))
    found = _value(headers, "From")
    addresses = getattr(found, "addresses", ())
    name = addresses[0].display_name if len(addresses) == 1 else ""
    return Sender(_text(name), _address(relevant), _text(_value(headers, "Subject")), _taken_in(headers))


def _address(lines: Iterable[bytes]) -> str:
    """The sender's address; "" unless there is one header `From`, and nobody can read another address in it."""
    senders = [line for line in lines if line[:4].lower() == b"from"]
    if len(senders) != 1 or len(senders[0]) > MAX_HEADER:
        return ""
    value = senders[0].partition(b":")[2].decode("utf-8", "replace")
    found = ONE_SENDER.fullmatch(ASIDE.sub(" ", value))
    return found[1] or found[2] if found else ""


def _bounded(path: StrPath) -> bytes:
    with open(path, "rb") as file:
        data = file.read(MAX_MESSAGE + 1)
    if len(data) > MAX_MESSAGE:
        raise Refused(f"it has more than {MAX_MESSAGE // 2**20} MB")
    text = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    headers = HEADER.findall(text)
    many = (
        text.count(b"\n--") > MAX_PARTS or sum(CONTAINER.match(header) is not None for header in headers) > MAX_NESTED
    )
    if many or text.count(b"\n") > MAX_LINES or any(len(header) > MAX_HEADER for header in headers):
        raise Refused("it has too many parts")
    return data


def _outer_parts(message: Part) -> Iterator[Part]:
    """The parts of a message that hold no others, without those of messages within it."""
    waiting = [message]
    while waiting:
        part = waiting.pop()
        if part.get_content_maintype() == "message":
            continue
        if part.is_multipart():
            waiting += reversed(cast(list[Part], part.get_payload()))
        else:
            yield part


def _name_of(part: Part) -> str:
    """The name of an attached file, without folders; "" for a part that is none, a message, or a signature."""
    try:
        name = _text(make_header(decode_header(part.get_filename() or ""))).replace("\\", "/").rpartition("/")[2]
    except Exception:  # as above
        return ""
    is_one = name.strip(". ") and not is_message(name) and part.get_content_subtype() not in SIGNATURES
    return name if is_one else ""


def _may_be_one(name: str) -> bool:
    """Whether a file of this name may be a notebook, or an archive with one."""
    return os.path.splitext(name)[1].strip().lower() in kinds.ENDINGS or is_archive(name)


def _told_apart(found: Iterable[tuple[str, Part]]) -> Iterator[tuple[str, Part]]:
    """The parts by names that differ: a phone calls every picture `image.jpg`. Notebooks keep theirs."""
    seen: dict[str, int] = {}
    for name, part in found:
        seen[name.casefold()] = number = seen.get(name.casefold(), 0) + 1
        stem, suffix = os.path.splitext(name)
        yield name if number == 1 or _may_be_one(name) else f"{stem} ({number}){suffix}", part


def _opened(part: Part) -> AbstractContextManager[IO[bytes]]:
    data = part.get_payload(decode=True)
    return contextlib.closing(io.BytesIO(data if isinstance(data, bytes) else b""))


def _value(headers: EmailMessage, name: str) -> object:
    """The first header of this name, None if there is none, or if it cannot be read."""
    try:
        return headers[name]
    except Exception:  # the parser raises many kinds of errors for what is no header
        return None


def _text(value: object) -> str:
    text = "" if value is None else str(value)
    return " ".join(printable(text.encode("utf-8", "replace").decode()).split())


def _taken_in(headers: EmailMessage) -> datetime | None:
    """When the last server took a message in (UTC): it writes the topmost line `Received`. None if it does not say."""
    said = str(_value(headers, "Received") or "").rpartition(";")[2].strip()
    try:
        time = parsedate_to_datetime(said)
        return time.astimezone(UTC).replace(tzinfo=None, microsecond=0) if time.tzinfo else None
    except Exception:  # as above
        return None
