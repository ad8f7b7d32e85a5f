"""Requests to a platform: with an end, a limit, and no way to anywhere else."""

from __future__ import annotations

import time
from typing import Any

import requests
from requests.adapters import HTTPAdapter
from urllib3.exceptions import HTTPError

SECONDS = 5.0  # to connect, and between two parts of an answer
IN_ALL = 15.0  # seconds for an answer
LARGEST = 4 * 2**20  # bytes of an answer
PART = 2**10  # bytes that are read at once


class Down(Exception):
    """The other side does not answer, or not with what it should."""


class Patient(requests.Session):
    """A session of `requests` that waits for a while, reads so much, and follows no redirects."""

    def __init__(self) -> None:
        super().__init__()
        self.headers["User-Agent"] = "attention-course desk"
        for scheme in ("https://", "http://"):
            self.mount(scheme, HTTPAdapter(max_retries=0))

    def request(self, method: str, url: str | bytes, *args: Any, **options: Any) -> requests.Response:
        """As in `requests`. Raises Down."""
        options |= {"timeout": SECONDS, "allow_redirects": False, "stream": True}
        until = time.monotonic() + IN_ALL
        try:
            with super().request(method, url, *args, **options) as answer:
                body = bytearray()
                # `read1` gives what has come; `read` waits for a whole part, for hours if it comes by the byte
                read = getattr(answer.raw, "read1", answer.raw.read)  # urllib3 1 has `read` alone
                while part := read(PART, decode_content=True):
                    body += part
                    if len(body) > LARGEST or time.monotonic() > until:
                        raise Down(f"{url!s} answers with more than {LARGEST // 2**20} MB, or for too long")
                answer._content = bytes(body)
        except (requests.RequestException, HTTPError) as error:
            raise Down(f"{url!s} does not answer: {error}") from None
        if answer.status_code >= 500 or answer.is_redirect:
            raise Down(f"{url!s} answers {answer.status_code}")
        return answer
