"""Decides how the text of a table is encoded: only where all readings that could be meant are the same."""

from __future__ import annotations

import contextlib
import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ..errors import UsageError

# What spreadsheets save where it is not Unicode, on Windows and on Macs. What DOS and Unix wrote counts where nothing
# of that can be meant: it has letters for nearly all bytes.
LIKELY = "cp1252 cp1250 cp1254 mac_roman cp1251 cp1253 gb18030 big5 euc_kr shift_jis".split()
UNLIKELY = "cp850 cp852 cp866 koi8_r".split()
WORD = re.compile(r'[^\s,;|"]*[^\0-\x7f\s][^\s,;|"]*')
INSIDE = "’‘´`"  # signs beyond ASCII that may be inside a word
BESIDE = re.compile(f"[\0-\x2f\x3a-\x40\x5b-\x60\x7b-\x7f{INSIDE}“”„‚«»–—€§°]+")  # that may be beside a letter
# any other sign between letters, or one that opens a quotation behind a letter
BETWEEN = re.compile(rf"[^\W\d_](?:[^\0-\x7f\w{INSIDE}][^\W\d_]|[‚„])")
LATIN = re.compile("[A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u017f]")
OTHER_SCRIPTS = ("CYRILLIC", "GREEK", "CJK", "HANGUL", "HIRAGANA", "KATAKANA")
JAPANESE = {"CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "IDEOGRAPHIC"}  # are beside each other in one word
SHOWN, EXAMPLES = 3, 2  # readings in a sentence, and words of each


@dataclass(frozen=True)
class Decoded:
    """A text, and the encoding that was found by looking at its words; "" if the text says what it is in."""

    text: str
    guessed: str = ""

    @property
    def examples(self) -> str:
        """The first words that another encoding would spell in another way, if it was found by them."""
        return self.guessed and ", ".join(words(self.text)[:EXAMPLES])


def decoded(data: bytes, where: str, encoding: str | None = None) -> Decoded:
    """The text in these bytes, in `encoding` or in that which they must be in. Raises UsageError."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return Decoded(data.decode("utf-16", "replace"))
    if data[:3] == b"\xef\xbb\xbf":
        return Decoded(data.decode("utf-8-sig", "replace"))
    if encoding:
        return Decoded(_said(data, where, encoding))
    if b"\0" in data:  # UTF-16 without a mark: most letters of a table are in ASCII, half of their bytes is 0
        return Decoded(data.decode("utf-16-be" if data[0] == 0 else "utf-16-le", "replace"))
    try:
        return Decoded(data.decode("utf-8"))
    except UnicodeDecodeError:
        return _found(data, where)


def _said(data: bytes, where: str, encoding: str) -> str:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        raise UsageError(f"{where} is not in {encoding}: give another --encoding, or save it as “CSV UTF-8”.") from None
    except (LookupError, ValueError):
        raise UsageError(f"There is no encoding {encoding!r}. Give one such as cp1250, cp1252 or mac_roman.") from None


def _found(data: bytes, where: str) -> Decoded:
    """The only reading that somebody may have meant. Raises UsageError."""
    for encodings in (LIKELY, UNLIKELY):
        readings: dict[tuple[str, ...], Decoded] = {}
        for reading in _readings(data, encodings):
            if all(may_be_meant(word, reading.guessed == "shift_jis") for word in WORD.findall(reading.text)):
                readings.setdefault(tuple(words(reading.text)), reading)
        if len(readings) > 1:
            raise _unsure(list(readings.values()), where)
        if readings:
            return next(iter(readings.values()))
    raise _unsure(list(_readings(data, LIKELY)), where)


def _readings(data: bytes, encodings: Iterable[str]) -> Iterator[Decoded]:
    for encoding in encodings:
        with contextlib.suppress(UnicodeDecodeError):
            yield Decoded(data.decode(encoding), encoding)


def _unsure(readings: list[Decoded], where: str) -> UsageError:
    if len(readings) < 2:
        return UsageError(f"{where} is not in UTF-8, nor in an encoding that this kit knows: save it as “CSV UTF-8”.")
    columns = list(zip(*(WORD.findall(reading.text) for reading in readings[:SHOWN]), strict=False))
    different = dict.fromkeys(column for column in columns if len(set(column)) > 1)
    read = [", ".join(row[:EXAMPLES]) for row in zip(*different, strict=True)]
    named = [f"{shown} in {one.guessed}" for shown, one in zip(read, readings, strict=False)]
    options = " or ".join(f"`--encoding {one.guessed}`" for one in readings[:SHOWN])
    return UsageError(
        f"{where} is not in UTF-8, and it can be read in several ways: {'; '.join(named)}. Save it as “CSV UTF-8”, or"
        f" give `autograder roster` (or `export`) the option {options}."
    )


# --- what somebody may have meant -------------------------------------------------------------------


def words(text: str) -> list[str]:
    """The words that have letters beyond ASCII."""
    return [word for word in WORD.findall(text) if any(c > "\x7f" and _script(c) for c in word)]


def may_be_meant(word: str, is_japanese: bool = False) -> bool:
    """Whether people write such a word: letters of one script, capitals and other signs where they can be."""
    if is_japanese:  # its scripts are one
        word = "".join("一" if unicodedata.name(c, "?").split()[0] in JAPANESE else c for c in word)
    if BETWEEN.search(word):  # Bart—k
        return False
    return all(_is_name(part, word) for part in BESIDE.split(word) if part)


def _is_name(part: str, word: str) -> bool:
    scripts = {_script(c) for c in part if c > "\x7f" or c.isalpha()}
    if "" in scripts or len(scripts) > 1:  # another sign, or Mьller
        return not any(scripts)
    if scripts == {"LATIN"} and not part.isascii():
        if len(part) == 1 and not (part.isupper() and f"{part}." in word):
            return False
        if len(part) > 1 and not any(c <= "\x7f" for c in part):  # Èâàíîâ, for Иванов
            return False
    return not any(_is_odd(part, at) for at in range(1, len(part)))


def _is_odd(part: str, at: int) -> bool:
    """Whether a capital is where none can be (RenÈ, BŽla); those all in ASCII, as in McDonald, may be there."""
    before, c = part[at - 1], part[at]
    if not c.isupper() or before <= "\x7f" and c <= "\x7f":
        return False
    return before.islower() or (c > "\x7f" and any(map(str.islower, part)))


def _script(c: str) -> str:
    """The script of a letter that names are written in, or "" for any other sign."""
    if LATIN.match(c):
        return "LATIN"
    script = unicodedata.name(c, "?").split()[0] if c.isalpha() else ""
    return script if script in OTHER_SCRIPTS else ""
