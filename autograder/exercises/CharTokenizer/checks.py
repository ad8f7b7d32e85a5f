"""Checks of `CharTokenizer(text)`: `.vocab_size`, `.encode(str) -> list[int]`, `.decode(list[int]) -> str`.

Every check but the first starts by asking for the ids of a plain text. What `decode` does with unknown ids is left
open.
"""

import torch

from ...checks.api import CheckFailed, check, kind_of, length, numbers, refuses
from ...sandbox.inside.wire import Opaque
from ..reference import language

METHODS = ("encode", "decode", "vocab_size")  # what is asked of it, in place of `forward`

NO_DEVICE = "It takes and gives text and lists."  # why no check is made on a GPU
NO_TENSORS = "It gives lists and text."  # why it is not tried with tensors of random values

PLAIN = "abcdefghijklmnopqrstuvwxyz"
WIDE = "àéßøŁжλש中\N{GRINNING FACE}\N{HIGH VOLTAGE SIGN}"  # the last two lie beyond 16 bits or are drawn in colour
ODD = "\n\t .,;!?'\"-_0123456789" + PLAIN.upper()
STRANGE = "#~@^ЖЩЯфцλπ中"  # no error message contains these unless it names them


def text_of(draw, characters, n, repeats=3):
    """A text of `n` of the characters in random order, each one to `repeats` times."""
    chosen = [characters[i] for i in torch.randperm(len(characters), generator=draw.generator)[:n]]
    many = [c for c in chosen for _ in range(draw.integer(1, repeats))]
    return "".join(many[i] for i in torch.randperm(len(many), generator=draw.generator))


def ids_of(got, text, made_from):
    """Raises CheckFailed unless these are the ids of the text's characters, of any type of number."""
    known = language.vocabulary(made_from)
    right = [known.index(character) for character in text]
    many = length(got)
    if many is None:
        raise CheckFailed(f"`encode` should return a list of ids, but it returned {kind_of(got)}.")
    of = f"Of a text of {len(known)} different characters"
    if many != len(right):
        raise CheckFailed(f"{of}: {many} ids came for {len(right)} characters.")
    for character, one, wanted in zip(text, numbers(got, many), right, strict=True):
        if one != wanted:
            says = f"the id of {character!r} should be {wanted}, but it is {str(one)[:40]}"
            raise CheckFailed(f"{of}: {says}.")


def same_text(got, right):
    """Raises CheckFailed unless this is that string."""
    if type(got) is not str:
        raise CheckFailed(f"`decode` should return a string, but it returned {kind_of(got)}.")
    if got != right:
        raise CheckFailed(f"`decode` gave {got[:60]!r}, where {right[:60]!r} is right.")


def ready(submission, draw, characters=PLAIN, n=9):
    """(a tokenizer, the text it was made from), after a tokenizer was seen to encode a plain text."""
    text = text_of(draw, PLAIN, 9)
    tokenizer = submission.build("CharTokenizer", text)
    ids_of(tokenizer.method("encode")(text), text, text)
    if characters is PLAIN:
        return tokenizer, text
    text = text_of(draw, characters, n)
    return submission.build("CharTokenizer", text), text


def any_ids(draw, known):
    """Each id once and four once more, in random order, so that they do not give away what `encode` should return."""
    ids = [*range(len(known)), *(draw.integer(0, len(known) - 1) for _ in range(4))]
    return [ids[i] for i in torch.randperm(len(ids), generator=draw.generator)]


@check("values", points=1)
def test_encode(submission, draw):
    """The id of a character is its place among the text's different characters, sorted; `encode` gives one for each."""
    text = text_of(draw, PLAIN, 12)
    other = text_of(draw, "".join(dict.fromkeys(text)), 8)
    tokenizer = submission.build("CharTokenizer", text)
    got = [tokenizer.method("encode")(one) for one in (text, other, other[::-1])]
    for ids, one in zip(got, (text, other, other[::-1]), strict=True):
        ids_of(ids, one, text)


@check("values", points=0.5)
def test_decode(submission, draw):
    """`decode` turns ids back into the string that they stand for, in their order."""
    tokenizer, text = ready(submission, draw)
    known = language.vocabulary(text)
    ids = any_ids(draw, known)[:12]
    got = tokenizer.method("decode")(ids)
    same_text(got, "".join(known[i] for i in ids))


@check("values", points=0.5)
def test_vocab_size(submission, draw):
    """`vocab_size` is the number of different characters, a plain number."""
    (one, short), (two, long) = ready(submission, draw), ready(submission, draw, PLAIN + ODD, 30)
    got = [one.attribute("vocab_size"), two.attribute("vocab_size")]
    for value, text in zip(got, (short, long), strict=True):
        if type(value) is not int:
            raise CheckFailed(f"`vocab_size` should be a number, but it is {kind_of(value)}.")
        if value != len(set(text)):
            raise CheckFailed(f"Of a text with {len(set(text))} different characters, `vocab_size` is {value}.")


@check("values", points=0.5)
def test_any_character(submission, draw):
    """Capitals, digits, spaces, line ends, accents and emoji are characters like others, and come back as they were."""
    ready(submission, draw)
    for characters, n in [(PLAIN + ODD, 30), (WIDE + PLAIN, 20), (ODD + WIDE, 24)]:
        text = text_of(draw, characters, n) + " \n"
        tokenizer = submission.build("CharTokenizer", text)
        ids, known = tokenizer.method("encode")(text), language.vocabulary(text)
        others = any_ids(draw, known)
        back = tokenizer.method("decode")(others)
        ids_of(ids, text, text)
        same_text(back, "".join(known[i] for i in others))


@check("shape", points=0.5)
def test_types(submission, draw):
    """`encode` returns a list of plain whole numbers; the empty string gives the empty list, which gives it back."""
    tokenizer, text = ready(submission, draw)
    ids, none, nothing = (
        tokenizer.method("encode")(text),
        tokenizer.method("encode")(""),
        tokenizer.method("decode")([]),
    )
    if type(ids) is not list or type(none) is not list:
        raise CheckFailed(
            f"`encode` should return a list, but it returned {kind_of(none if type(ids) is list else ids)}."
        )
    strange = next((one for one in ids if type(one) is not int), None)
    if strange is not None:
        name = strange.name if isinstance(strange, Opaque) else type(strange).__name__
        raise CheckFailed(f"The ids should be plain numbers, of type int; one is of type {name[:40]}.")
    if none != []:
        raise CheckFailed("`encode` of the empty string should be the empty list.")
    same_text(nothing, "")


@check("arguments", points=0.5)
def test_unknown_character(submission, draw):
    """A character that the text does not have is refused with a `ValueError` that names it."""
    cases = {}
    for unknown in text_of(draw, STRANGE, 3, repeats=1):
        tokenizer, text = ready(submission, draw)
        i = draw.integer(1, len(text) - 1)
        cases[unknown] = tokenizer.method("encode").error(text[:i] + unknown + text[i:])
    for unknown, error in cases.items():
        refuses(error, f"the unknown character {unknown!r}", unknown)
        others = [other for other in cases if other != unknown and other in error.message]
        if others:
            raise CheckFailed(f"The ValueError for {unknown!r} names {others[0]!r} as well, which was not there.")


@check("mode", points=0.5)
def test_tokenizers_apart(submission, draw):
    """Tokenizers of different texts stand side by side: each keeps its own characters."""
    (one, first), (two, second) = ready(submission, draw), ready(submission, draw, PLAIN + ODD, 25)
    known = language.vocabulary(first)
    ids = any_ids(draw, known)
    got = two.method("encode")(second), one.method("encode")(first), one.method("decode")(ids)
    ids_of(got[0], second, second)
    ids_of(got[1], first, first)
    same_text(got[2], "".join(known[i] for i in ids))
