"""Checks of `CharTokenizer(text)`: `.vocab_size`, `.encode(str) -> list[int]`, `.decode(list[int]) -> str`.

Every check but the first starts with an easy case, in which different characters have different ids. Which ids these
are is asked for in two checks alone: the others go by the tokenizer's own. What `decode` does with unknown ids is left
open.
"""

from collections.abc import Sequence
from typing import Any

import torch

from ...checks.api import CheckFailed, Draw, check, gate, kind_of, length, numbers, refuses
from ...checks.proxies import Proxy, Submission
from ...sandbox.inside.wire import Opaque
from ..reference import language

METHODS = ("encode", "decode", "vocab_size")  # what is asked of it, in place of `forward`

NO_DEVICE = "It takes and gives text and lists."  # why no check is made on a GPU
NO_TENSORS = "It gives lists and text."  # why it is not tried with tensors of random values

PLAIN = "abcdefghijklmnopqrstuvwxyz"
WIDE = "àéßøŁжλש中\N{GRINNING FACE}\N{HIGH VOLTAGE SIGN}"  # the last two lie beyond 16 bits or are drawn in colour
ODD = "\n\t .,;!?'\"-_0123456789" + PLAIN.upper()
LINE_ENDS = "\r\n\x0b\x0c\x1c\x85\u2028"  # all that `splitlines` takes for the end of a line
STRANGE = "#~@^ЖЩЯфцλπ中"  # no error message contains these unless it names them


def text_of(draw: Draw, characters: str, n: int, repeats: int = 3) -> str:
    """A text of `n` of the characters in random order, each one to `repeats` times."""
    chosen = shuffled(draw, characters)[:n]
    return "".join(shuffled(draw, [c for c in chosen for _ in range(draw.integer(1, repeats))]))


def shuffled(draw: Draw, many: Sequence[str]) -> list[str]:
    """The characters in random order, as a list."""
    return [many[i] for i in torch.randperm(len(many), generator=draw.generator).tolist()]  # type: ignore[return-value]


def ids_of(got: Any, text: str, made_from: str) -> None:
    """Raises CheckFailed unless these are the ids of the text's characters, of any type of number."""
    known = language.vocabulary(made_from)
    right = {character: i for i, character in enumerate(known)}
    many = length(got)
    if many is None:
        raise CheckFailed(f"`encode` should return a list of ids, but it returned {kind_of(got)}.")
    if many != len(text):
        raise CheckFailed(f"{many} ids came for {len(text)} characters.")
    for character, one in zip(text, numbers(got, many), strict=True):
        if one != right[character]:
            raise CheckFailed(f"The id of {character!r} should not be {str(one)[:40]} in this text.")


def same_text(got: Any, right: str) -> None:
    """Raises CheckFailed unless this is that string."""
    if type(got) is not str:
        raise CheckFailed(f"`decode` should return a string, but it returned {kind_of(got)}.")
    if got != right:
        raise CheckFailed(f"`decode` gave {got[:60]!r}, which is not what the ids stand for.")


@gate()
def ready(submission: Submission, draw: Draw, characters: str = PLAIN, n: int = 9) -> tuple[Proxy, str, dict[str, int]]:
    """(a tokenizer, the text it was made from, its own id of each character), after it told plain ones apart."""
    text = text_of(draw, PLAIN, 9)
    tokenizer = submission.build("CharTokenizer", text)
    own = own_ids(tokenizer, text)
    if characters is PLAIN:
        return tokenizer, text, own
    text = text_of(draw, characters, n)
    tokenizer = submission.build("CharTokenizer", text)
    return tokenizer, text, own_ids(tokenizer, text)


def own_ids(tokenizer: Proxy, text: str) -> dict[str, int]:
    """The id that the tokenizer gives each character of its text. Raises CheckFailed if two have the same."""
    own = ids_by_character(tokenizer.method("encode")(text), text)
    if len(set(own.values())) != len(set(text)):  # then one by one: what is right of it counts
        own = {}
        for character in language.vocabulary(text):
            own |= ids_by_character(tokenizer.method("encode")(character), character)
    if len(set(own.values())) != len(set(text)):
        raise CheckFailed("`encode` should give one id for each character, and different characters different ones.")
    return own


def ids_by_character(got: Any, text: str) -> dict[str, int]:
    """The ids that stand for a text's characters, whichever they are; {} if there are more or fewer, or they vary."""
    if length(got) != len(text):
        return {}
    ids = [whole(one) for one in numbers(got, len(text))]
    own = dict(zip(text, ids, strict=True)) if all(isinstance(one, int) for one in ids) else {}
    return own if ids == [own.get(character) for character in text] else {}


def whole(one: Any) -> Any:
    """A float or a text that holds a whole number as an int: which type it should be has a check of its own."""
    is_whole = one.is_integer() if isinstance(one, float) else isinstance(one, str) and one.isdecimal()
    return int(one) if is_whole else one


def any_characters(draw: Draw, known: Sequence[str]) -> list[str]:
    """Each character once and four once more, in random order: not the text that `encode` was given."""
    return shuffled(draw, [*known, *(known[draw.integer(0, len(known) - 1)] for _ in range(4))])


@check("values", points=1)
def test_encode(submission: Submission, draw: Draw) -> None:
    """The id of a character is its place among the text's different characters, sorted; `encode` gives one for each."""
    text = text_of(draw, PLAIN, 12)
    other = text_of(draw, "".join(dict.fromkeys(text)), 8)
    tokenizer = submission.build("CharTokenizer", text)
    got = [tokenizer.method("encode")(one) for one in (text, other, other[::-1])]
    for ids, one in zip(got, (text, other, other[::-1]), strict=True):
        ids_of(ids, one, text)


@check("values", points=0.5)
def test_decode(submission: Submission, draw: Draw) -> None:
    """`decode` turns ids back into the string that they stand for, in their order."""
    tokenizer, text, own = ready(submission, draw)
    characters = any_characters(draw, language.vocabulary(text))[:12]
    got = tokenizer.method("decode")([own[character] for character in characters])
    same_text(got, "".join(characters))


@check("values", points=0.5)
def test_vocab_size(submission: Submission, draw: Draw) -> None:
    """`vocab_size` is the number of different characters, a plain number."""
    (one, short, _), (two, long, _) = ready(submission, draw), ready(submission, draw, PLAIN + ODD, len(PLAIN + ODD))
    got = [one.attribute("vocab_size"), two.attribute("vocab_size")]
    for value, text in zip(got, (short, long), strict=True):
        if type(value) is not int:
            raise CheckFailed(f"`vocab_size` should be a plain number, of type int, but it is {kind_of(value)}.")
        if value != len(set(text)):
            raise CheckFailed(f"`vocab_size` is {value}, which is not how many different characters its text has.")


@check("values", points=0.5)
def test_any_character(submission: Submission, draw: Draw) -> None:
    """All characters count as they are: capitals, spaces, line ends, accents, emoji; also hundreds, in a long text."""
    ready(submission, draw)
    strange = [
        chr(0x4E00 + 7 * i + j) for i, j in enumerate(torch.randint(7, (300,), generator=draw.generator).tolist())
    ]
    texts = [
        text_of(draw, PLAIN + ODD, 30) + "\n " + text_of(draw, PLAIN, 9) + " \n",
        text_of(draw, WIDE + PLAIN, 20) + "àe\u0301 \n",  # the second accent is a character of its own
        text_of(draw, ODD + WIDE, 24) + " \n",
        text_of(draw, PLAIN, 9) + "\r\n" + text_of(draw, LINE_ENDS + PLAIN, 20) + "\r",
        text_of(draw, PLAIN, 26, repeats=300)[:1800] + "".join(shuffled(draw, strange)),
    ]
    for text in texts:
        tokenizer = submission.build("CharTokenizer", text)
        ids, known = tokenizer.method("encode")(text), language.vocabulary(text)
        characters = any_characters(draw, known)
        back = tokenizer.method("decode")([known.index(character) for character in characters])
        ids_of(ids, text, text)
        same_text(back, "".join(characters))


@check("shape", points=0.5)
def test_types(submission: Submission, draw: Draw) -> None:
    """`encode` returns a list of plain whole numbers; the empty string gives the empty list, which gives it back."""
    tokenizer, text, _ = ready(submission, draw)
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
def test_unknown_character(submission: Submission, draw: Draw) -> None:
    """A character that the text does not have is refused with a `ValueError` that names it."""
    cases = {}
    for unknown in text_of(draw, STRANGE, 3, repeats=1):
        tokenizer, text, _ = ready(submission, draw)
        i = draw.integer(1, len(text) - 1)
        cases[unknown] = tokenizer.method("encode").error(text[:i] + unknown + text[i:])
    for unknown, error in cases.items():
        refuses(error, f"the unknown character {unknown!r}", unknown)
        others = [other for other in cases if other != unknown and other in error.message]
        if others:
            raise CheckFailed(f"The ValueError for {unknown!r} names {others[0]!r} as well, which was not there.")


@check("mode", points=0.5)
def test_tokenizers_apart(submission: Submission, draw: Draw) -> None:
    """Tokenizers of different texts stand side by side: each keeps its own characters."""
    (one, first, own), (two, second, others) = (
        ready(submission, draw),
        ready(submission, draw, PLAIN + PLAIN.upper(), 25),
    )
    characters = any_characters(draw, language.vocabulary(first))
    got = two.method("encode")(second), one.method("encode")(first)
    back = one.method("decode")([own[character] for character in characters])
    for ids, text, right in ((got[0], second, others), (got[1], first, own)):
        if ids_by_character(ids, text) != right:
            raise CheckFailed("With two tokenizers side by side, one gives other ids than it gave before.")
    same_text(back, "".join(characters))
