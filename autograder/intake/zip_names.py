"""The names of files in a zip whose encoding it does not say: one encoding for all, under which they are words.

A flag says that a name is UTF-8. Without it the standard has cp437; but programs write UTF-8, or what their system has.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Callable, Sequence
from zipfile import ZipInfo

UTF8 = 0x800  # the flag
LETTERS = re.compile(r"[^\W\d_]+")
# in the order in which they are tried, with the scripts of their words; "" stands for those of gb2312 and others
ENCODINGS = {
    "utf-8": (),
    "cp437": ("LATIN",),
    "cp850": ("LATIN",),
    "cp1252": ("LATIN",),
    "gb2312": ("CJK",),
    "cp866": ("CYRILLIC",),
    "gbk": ("CJK",),
    "shift_jis": ("CJK", "HIRAGANA", "KATAKANA"),
}


def decoded(infos: Sequence[ZipInfo]) -> list[str]:
    """The names of all files of a zip, in order."""
    raw = [_raw(info) for info in infos]
    odd = [name for name in raw if name is not None and not name.isascii()]
    encoding = next((e for e in ENCODINGS if all(map(functools.partial(_are_words, e), odd))), "cp437") if odd else ""
    decode: Callable[[bytes], str] = lambda name: name.decode(encoding or "ascii", "replace")  # noqa: E731
    return [info.filename if name is None else decode(name) for info, name in zip(infos, raw, strict=True)]


def _raw(info: ZipInfo) -> bytes | None:
    """The bytes of a name of unknown encoding, which Python reads as cp437; None where it is known."""
    if info.flag_bits & UTF8:
        return None
    try:
        return info.filename.encode("cp437")
    except UnicodeEncodeError:
        return None


def _are_words(encoding: str, name: bytes) -> bool:
    """Whether a name is text of words in an encoding."""
    try:
        text = unicodedata.normalize("NFC", name.decode(encoding))
    except UnicodeDecodeError:
        return False
    scripts = ENCODINGS[encoding]
    if not scripts:
        return True
    if any(not c.isascii() and not LETTERS.fullmatch(c) for c in text):
        return False
    return all(_is_word(word, scripts) for word in LETTERS.findall(text) if not word.isascii())


def _is_word(word: str, scripts: Sequence[str]) -> bool:
    odd = [c for c in word if not c.isascii()]
    if any(unicodedata.category(c) not in ("Ll", "Lu", "Lo") for c in odd):
        return False
    if any(unicodedata.name(c, "").split(" ")[0] not in scripts for c in odd):
        return False
    if "LATIN" not in scripts:
        return True
    # a word of several letters has one of ASCII, and no capital behind a small letter
    return (len(odd) == 1 or len(odd) < len(word)) and not any(
        a.islower() and b.isupper() and not b.isascii() for a, b in zip(word, word[1:], strict=False)
    )
