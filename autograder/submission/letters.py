"""Tells the letters of a name, in any script, from accents and from characters that show nothing."""

import unicodedata

ACCENTS = {*range(10, 37), *range(200, 256)}  # classes of marks: also the points of Hebrew and Arabic
MARKS = ("Mn", "Mc")  # such as the vowels of Hindi and Thai, and what tells a Japanese "ga" from a "ka"
FORMS = {"\u034f", *map(chr, range(0xFE00, 0xFE10))}  # marks that choose the form of a letter


def without_accents(text: str) -> str:
    """The text without accents, as far as they are characters of their own, and without what shows nothing."""
    return "".join(
        c
        for c in text
        if unicodedata.combining(c) not in ACCENTS and unicodedata.category(c) != "Cf" and c not in FORMS
    )


def is_letter(char: str) -> bool:
    """Whether a character is a letter, a digit or a mark that is a part of one."""
    return char.isalnum() or unicodedata.category(char) in MARKS
