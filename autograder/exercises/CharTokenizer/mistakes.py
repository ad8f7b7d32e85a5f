"""Wrong implementations of `CharTokenizer(text)`. Each one replaces a step of `Right`."""

import unicodedata
from collections import Counter

import torch

from ...mistakes.bank import misconception


class Right:
    """A tokenizer, of which any step can be replaced."""

    def __init__(self, text):
        self.chars = self.characters(text)
        self.vocab_size = self.size(text)

    def characters(self, text):
        return sorted(set(text))

    def size(self, text):
        return len(self.chars)

    def unknown(self, character):
        raise ValueError(f"unknown character {character!r}")

    def id(self, character):
        return self.chars.index(character) if character in self.chars else self.unknown(character)

    def encode(self, text):
        return [self.id(c) for c in text]

    def decode(self, ids):
        return "".join(self.chars[i] for i in ids)


# --- which ids ------------------------------------------------------------------------------------


@misconception(
    "order-of-appearance",
    "The characters are numbered as they first appear in the text: sort them, so that the ids do not hang on the text's"
    " order.",
)
class OrderOfAppearance(Right):
    def characters(self, text):
        return list(dict.fromkeys(text))


@misconception("order-reversed", "The characters are sorted from the last to the first: the smallest gets 0.")
class OrderReversed(Right):
    def characters(self, text):
        return sorted(set(text), reverse=True)


@misconception("most-frequent-first", "The most frequent character gets 0: ids go by the characters' order instead.")
class MostFrequentFirst(Right):
    def characters(self, text):
        return [c for c, _ in sorted(Counter(text).items(), key=lambda one: (-one[1], one[0]))]


@misconception(
    "sorted-without-case",
    "Capitals and small letters are sorted as if they were the same: `sorted` alone gives the order.",
)
class SortedWithoutCase(Right):
    def characters(self, text):
        return sorted(sorted(set(text)), key=str.lower)


@misconception("ids-from-one", "The ids start at 1: the first character is 0, as an embedding counts its rows.")
class IdsFromOne(Right):
    def encode(self, text):
        return [i + 1 for i in super().encode(text)]

    def decode(self, ids):
        return super().decode([i - 1 for i in ids])


@misconception("code-points", "The ids are code points (`ord`): number the characters that the text has, from 0.")
class CodePoints(Right):
    def id(self, character):
        return ord(character) if character in self.chars else self.unknown(character)

    def decode(self, ids):
        return "".join(chr(i) for i in ids)


@misconception(
    "repeated-characters",
    "A character gets a number for each time that it stands in the text: take each one once, with `set`.",
)
class RepeatedCharacters(Right):
    def characters(self, text):
        return sorted(text)


@misconception(
    "bytes-not-characters", "The text is taken apart into bytes: é or an emoji is one character, not several."
)
class BytesNotCharacters(Right):
    def characters(self, text):
        return sorted(set(text.encode()))

    def encode(self, text):
        known = set(bytes(self.chars).decode(errors="ignore")) if max(self.chars, default=0) < 128 else None
        for character in text:
            if known is not None and character not in known:
                self.unknown(character)
        return [self.chars.index(byte) for byte in text.encode()]

    def decode(self, ids):
        return bytes(self.chars[i] for i in ids).decode(errors="replace")


@misconception("words", "The text is cut into words: here a token is a single character.")
class Words(Right):
    def characters(self, text):
        return sorted(set(text.split()))

    def encode(self, text):
        return [self.id(word) for word in text.split()]

    def decode(self, ids):
        return " ".join(self.chars[i] for i in ids)


@misconception(
    "fixed-alphabet",
    "The ids come from a fixed alphabet and not from the text: only the characters of the text get one.",
)
class FixedAlphabet(Right):
    def characters(self, text):
        return [chr(i) for i in range(32, 127)]


# --- characters that vanish -----------------------------------------------------------------------


@misconception("small-letters-only", "Capitals are turned into small letters: they are characters of their own.")
class SmallLettersOnly(Right):
    def characters(self, text):
        return sorted(set(text.lower()))

    def encode(self, text):
        return super().encode(text.lower())


@misconception("line-ends-dropped", "Spaces or line ends are left out: they are characters like others.")
class LineEndsDropped(Right):
    def characters(self, text):
        return sorted(c for c in set(text) if not c.isspace())

    def encode(self, text):
        return [self.id(c) for c in text if not c.isspace()]


@misconception(
    "accents-taken-apart",
    "The text is normalised first, so that é becomes two characters: take the characters as they come.",
)
class AccentsTakenApart(Right):
    def characters(self, text):
        return sorted(set(unicodedata.normalize("NFD", text)))

    def encode(self, text):
        return super().encode(unicodedata.normalize("NFD", text))


@misconception("ascii-only", "Characters beyond ASCII are dropped: é and emoji are characters like others.")
class AsciiOnly(Right):
    def characters(self, text):
        return sorted(set(text.encode("ascii", "ignore").decode()))

    def encode(self, text):
        return [self.id(c) for c in text if c in self.chars or ord(c) < 128]


# --- encode and decode ----------------------------------------------------------------------------


@misconception("encode-sorts", "`encode` sorts the text that it is given: the ids keep the text's order.")
class EncodeSorts(Right):
    def encode(self, text):
        return super().encode(sorted(text))


@misconception("each-once", "`encode` gives each different character once: there is one id for every character.")
class EachOnce(Right):
    def encode(self, text):
        return super().encode(dict.fromkeys(text))


@misconception(
    "text-of-the-constructor", "`encode` encodes the text that the tokenizer was built from, not its argument."
)
class TextOfTheConstructor(Right):
    def __init__(self, text):
        super().__init__(text)
        self.text = text

    def encode(self, text):
        for character in text:
            self.id(character)
        return super().encode(self.text)


@misconception("decode-gives-a-list", "`decode` returns a list of characters: put them together with `''.join`.")
class DecodeGivesAList(Right):
    def decode(self, ids):
        return [self.chars[i] for i in ids]


@misconception("spaces-between", "`decode` puts spaces between the characters: join them with the empty string.")
class SpacesBetween(Right):
    def decode(self, ids):
        return " ".join(self.chars[i] for i in ids)


@misconception("decode-reversed", "`decode` gives the text backwards: keep the order of the ids.")
class DecodeReversed(Right):
    def decode(self, ids):
        text = ""
        for i in ids:
            text = self.chars[i] + text
        return text


@misconception("decode-one-off", "`decode` is off by one: id 0 is the first character of the sorted ones.")
class DecodeOneOff(Right):
    def decode(self, ids):
        return "".join(self.chars[i - 1] for i in ids)


# --- types ----------------------------------------------------------------------------------------


@misconception("tensor-of-ids", "`encode` returns a tensor: a plain list of numbers is asked for.")
class TensorOfIds(Right):
    def encode(self, text):
        return torch.tensor(super().encode(text), dtype=torch.int64)


@misconception("tensors-in-a-list", "`encode` returns a list of tensors: its parts should be plain numbers.")
class TensorsInAList(Right):
    def encode(self, text):
        return [torch.tensor(i) for i in super().encode(text)]


@misconception("tuple-of-ids", "`encode` returns a tuple: a list is asked for.")
class TupleOfIds(Right):
    def encode(self, text):
        return tuple(super().encode(text))


@misconception("floats", "The ids are floats: an index is a whole number.")
class Floats(Right):
    def encode(self, text):
        return [float(i) for i in super().encode(text)]


@misconception("text-of-ids", "`encode` returns the ids as text: a list of numbers is asked for.")
class TextOfIds(Right):
    def encode(self, text):
        return [str(i) for i in super().encode(text)]


@misconception("empty-refused", "The empty string is refused: it has no characters, so its list of ids is empty.")
class EmptyRefused(Right):
    def encode(self, text):
        if not text:
            raise ValueError("nothing to encode")
        return super().encode(text)


# --- the size of the vocabulary -------------------------------------------------------------------


@misconception("size-of-the-text", "`vocab_size` is the length of the text: count each different character once.")
class SizeOfTheText(Right):
    def size(self, text):
        return len(text)


@misconception("largest-id", "`vocab_size` is the largest id: it is one more, since ids start at 0.")
class LargestId(Right):
    def size(self, text):
        return len(self.chars) - 1


@misconception(
    "room-for-the-unknown",
    "`vocab_size` is one too large, as if there were an id for unknown characters: those are refused.",
)
class RoomForTheUnknown(Right):
    def size(self, text):
        return len(self.chars) + 1


@misconception(
    "size-is-a-method", "`vocab_size` is a method that must be called: it should be an attribute or property."
)
class SizeIsAMethod(Right):
    def __init__(self, text):
        self.chars = self.characters(text)

    def vocab_size(self):
        return len(self.chars)


# --- unknown characters ---------------------------------------------------------------------------


@misconception("unknown-is-a-keyerror", "An unknown character ends in a KeyError from a dict: raise a `ValueError`.")
class UnknownIsAKeyError(Right):
    def unknown(self, character):
        return {}[character]


@misconception("unknown-dropped", "An unknown character is dropped without a word: raise a `ValueError` that names it.")
class UnknownDropped(Right):
    def encode(self, text):
        return [self.chars.index(c) for c in text if c in self.chars]


@misconception(
    "unknown-gets-an-id",
    "An unknown character gets an id, as `str.find` or `dict.get` may do: raise a `ValueError` that names it.",
)
class UnknownGetsAnId(Right):
    def unknown(self, character):
        return -1


@misconception("unknown-not-named", "The `ValueError` for an unknown character does not say which one it is.")
class UnknownNotNamed(Right):
    def unknown(self, character):
        raise ValueError("the text holds an unknown character")


@misconception(
    "unknown-assert",
    "An unknown character stops at an `assert`, which raises an AssertionError: raise a `ValueError`.",
)
class UnknownAssert(Right):
    def unknown(self, character):
        raise AssertionError(f"unknown character {character!r}")


# --- several tokenizers ---------------------------------------------------------------------------


@misconception(
    "shared-by-all",
    "The characters are kept on the class (or globally), so a second tokenizer changes the first: keep them on `self`.",
)
class SharedByAll(Right):
    def __init__(self, text):
        SharedByAll.chars = self.characters(text)
        self.vocab_size = self.size(text)
