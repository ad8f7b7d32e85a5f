"""Keys for LTI 1.3: the desk's own pair, and the public ones by which platforms sign."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
import time
from collections.abc import Callable
from functools import cached_property
from typing import Any

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt import PyJWK
from jwt.algorithms import RSAAlgorithm

from ..record import Record
from .http import Down, Patient

LAST = 3600.0  # seconds for which a platform's keys are taken for its keys
RETRY = 30.0  # seconds after which they may be asked for again, for a launch with a key that is new
OWN = "RS256"  # with which the desk signs: all platforms have to know it


class OwnKey:
    """The desk's key. It is made once, and lies in the record."""

    def __init__(self, record: Record) -> None:
        self.private = record.secret("lti key", _new_key).decode()

    @cached_property
    def public(self) -> dict[str, str]:
        """The public half, as platforms fetch it."""
        key: Any = serialization.load_pem_private_key(self.private.encode(), None)
        made = RSAAlgorithm.to_jwk(key.public_key(), as_dict=True)
        numbers = {name: made[name] for name in ("e", "kty", "n")}
        return {**numbers, "kid": thumbprint(numbers), "alg": OWN, "use": "sig"}

    def key_set(self) -> dict[str, list[dict[str, str]]]:
        """What the desk's own address for keys answers."""
        return {"keys": [self.public]}


def thumbprint(key: dict[str, str]) -> str:
    """A public RSA key's name, made of its numbers as RFC 7638 says, so that each key has its own."""
    text = json.dumps({name: key[name] for name in ("e", "kty", "n")}, separators=(",", ":"))
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()


def _new_key() -> bytes:
    key = rsa.generate_private_key(65537, 2048)
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


class KeySets:
    """The public keys of platforms, by the address that gives them; `fetch` gets what an address says."""

    def __init__(self, fetch: Callable[[str], Any] | None = None) -> None:
        self.fetch = fetch or fetched
        self._locks: dict[str, threading.Lock] = {}
        self._sets: dict[str, tuple[float, list[dict[str, Any]] | None]] = {}  # when, and None if there were none

    def get(self, address: str, kid: str) -> list[dict[str, Any]]:
        """The keys, fetched again from time to time, and where none is called `kid`. Raises Down."""
        with self._locks.setdefault(address, threading.Lock()):  # the others wait for what the first one fetches
            known_since, keys = self._sets.get(address, (float("-inf"), []))
            age = time.monotonic() - known_since
            is_there = keys is not None and any(key.get("kid") == kid for key in keys)
            if age > LAST or age > RETRY and not is_there:
                try:
                    keys = _listed(self.fetch(address))
                except Down:
                    keys = None
                self._sets[address] = (time.monotonic(), keys)
        if keys is None:
            raise Down(f"{address} gives no keys")
        return keys

    def key(self, address: str, kid: str, algorithm: str) -> PyJWK:
        """The key called `kid`, if it is one for this algorithm: the token alone never says how it is checked.

        Raises Down, LookupError if there is none, and PyJWTError if it cannot be used.
        """
        for one in self.get(address, kid):
            if one.get("kid") == kid and (key := PyJWK(one)).algorithm_name == algorithm:
                return key
        raise LookupError(f"{address} has no key {kid!r} for {algorithm}")


def fetched(address: str) -> Any:
    """What an address answers, as JSON. Raises Down."""
    answer = Patient().get(address)
    try:
        return answer.json()
    except (ValueError, RecursionError):
        raise Down(f"{address} answers with no JSON") from None


def _listed(said: Any) -> list[dict[str, Any]]:
    """The public keys in what a platform says. Raises Down."""
    listed = said.get("keys") if isinstance(said, dict) else None
    if not isinstance(listed, list):
        raise Down("no list of keys")
    return [key for key in listed if isinstance(key, dict) and key.get("kty") in ("RSA", "EC")]
