"""The names of files in a zip whose encoding it does not say: one encoding for all, in which they read most like names.

A flag says that a name is UTF-8. Without it the standard has cp437; but programs write UTF-8, or what their system has.
"""

from __future__ import annotations

import contextlib
import re
import unicodedata
from collections.abc import Callable, Collection, Sequence
from zipfile import ZipInfo

UTF8 = 0x800  # the flag
LETTERS = re.compile(r"[^\W\d_]+")
# in this order where names read equally well: what DOS and Windows wrote in the West, and then elsewhere
ENCODINGS = ("cp437", "cp850", "cp1252", "cp852", "cp1250", "gb2312", "cp866", "gbk", "shift_jis")
# How unlikely a letter beyond ASCII is in a name: the usual ones of Western Europe, then others; signs are no letters.
USUAL, OTHER, RARE, FOREIGN, SIGN = 1, 2, 4, 6, 8
USUAL_LETTERS, RARE_LETTERS = "éèêëáàâäãåæíîïóôöõøúüñçß", "þðƒĸŉſ"
USUAL_CAPITALS = "ÁÀÂÄÅÇÉÈÍÓÖÕØÚÜÑŠŽČŁŚŻŘĐ"  # at the beginning of names
SCRIPTS = ("CYRILLIC", "CJK", "HIRAGANA", "KATAKANA")
COMMON_HANZI = range(0xB0, 0xD8)  # the first bytes of the common characters in GB 2312, the others of which are rare


def decoded(infos: Sequence[ZipInfo], known: Collection[str] = ()) -> list[str]:
    """The names of all files of a zip, in order; `known` are words of the people who may be named in it."""
    raw = [_raw(info) for info in infos]
    odd = b"\n".join(dict.fromkeys(name for name in raw if name is not None and not name.isascii()))
    encoding = _encoding(odd, known) if odd else "ascii"
    decode: Callable[[bytes], str] = lambda name: name.decode(encoding, "replace")  # noqa: E731
    return [info.filename if name is None else decode(name) for info, name in zip(infos, raw, strict=True)]


def _raw(info: ZipInfo) -> bytes | None:
    """The bytes of a name of unknown encoding, which Python reads as cp437; None where it is known."""
    if info.flag_bits & UTF8:
        return None
    try:
        return info.filename.encode("cp437")
    except UnicodeEncodeError:
        return None


def _encoding(names: bytes, known: Collection[str]) -> str:
    """The encoding in which most known words are in the names; if none is, that in which they read most like names."""
    with contextlib.suppress(UnicodeDecodeError):
        names.decode("utf-8")
        return "utf-8"
    found: dict[str, tuple[int, int]] = {}
    for encoding in ENCODINGS:
        with contextlib.suppress(UnicodeDecodeError):
            text = unicodedata.normalize("NFC", names.decode(encoding))
            folded = text.casefold()
            found[encoding] = -sum(word in folded for word in known), _unlikely(text)
    return min(found, key=lambda encoding: found[encoding])


def _unlikely(text: str) -> int:
    """How unlikely a text is as one of names; 0 if it is all in ASCII."""
    signs = sum(not c.isascii() and not LETTERS.fullmatch(c) for c in text)
    return SIGN * signs + sum(_unlikely_word(word) for word in LETTERS.findall(text) if not word.isascii())


def _unlikely_word(word: str) -> int:
    is_mixed, all_odd = not word.isupper() and not word.islower(), not any(c.isascii() for c in word)
    cost = 0
    for at, c in enumerate(word):
        if c.isascii():
            continue
        script = unicodedata.name(c, "").split(" ")[0]
        if script != "LATIN":
            cost += (_unlikely_sign(c) if script in SCRIPTS else FOREIGN) + RARE * (not all_odd)
            continue
        small = c.lower()
        cost += USUAL if small in USUAL_LETTERS else RARE if small in RARE_LETTERS else OTHER
        if at == 0:
            cost += 1 if c in USUAL_CAPITALS else 3
        elif c.isupper() and is_mixed:
            cost += FOREIGN  # behind another letter, as in HÚlio
        cost += 3 if all_odd and len(word) > 1 else 0
    return cost


def _unlikely_sign(c: str) -> int:
    """How unlikely a letter of another script is among others of it."""
    with contextlib.suppress(UnicodeEncodeError):
        return USUAL if c.isalpha() and (c < "\u3100" or c.encode("gb2312")[0] in COMMON_HANZI) else OTHER
    return RARE
