"""What goes wrong in `CharTokenizer(text)`, as edits of the course's own answer."""

from ...mistakes.bank import Bank

BANK = Bank(
    "CharTokenizer",
    places={
        "CHARACTERS": "sorted(set(text))",
        "SIZE": "len(self.characters)",
        "NUMBERED": "enumerate(self.characters)",
        "CHECK": """for character in string:
            if character not in self.id_of:
                raise ValueError(f"the text that this tokenizer knows has no character {character!r}")
        """,
        "REFUSE": 'raise ValueError(f"the text that this tokenizer knows has no character {character!r}")',
        "ID": "self.id_of[character]",
        "IDS": "[self.id_of[character] for character in string]",
        "STRING": '"".join(self.characters[i] for i in ids)',
    },
)
mistake = BANK.mistake

# --- which ids ------------------------------------------------------------------------------------

mistake(
    "order-of-appearance",
    "The characters are numbered as they first appear in the text: sort them, so that the ids do not hang on the text's"
    " order.",
    CHARACTERS="list(dict.fromkeys(text))",
)
mistake(
    "order-reversed",
    "The characters are sorted from the last to the first: the smallest gets 0.",
    CHARACTERS="sorted(set(text), reverse=True)",
)
mistake(
    "most-frequent-first",
    "The most frequent character gets 0: ids go by the characters' order instead.",
    CHARACTERS="sorted(sorted(set(text)), key=text.count, reverse=True)",
)
mistake(
    "sorted-without-case",
    "Capitals and small letters are sorted as if they were the same: `sorted` alone gives the order.",
    CHARACTERS="sorted(sorted(set(text)), key=str.lower)",
)
mistake(
    "ids-from-one",
    "The ids start at 1: the first character is 0, as an embedding counts its rows.",
    {"self.characters[i]": "self.characters[i - 1]"},
    NUMBERED="enumerate(self.characters, start=1)",
)
mistake(
    "code-points",
    "The ids are code points (`ord`): number the characters that the text has, from 0.",
    {"self.characters[i]": "chr(i)"},
    ID="ord(character)",
)
mistake(
    "repeated-characters",
    "A character gets a number for each time that it stands in the text: take each one once, with `set`.",
    {"character: i for i, character in {NUMBERED}": "c: self.characters.index(c) for c in self.characters"},
    CHARACTERS="sorted(text)",
)
mistake(
    "bytes-not-characters",
    "The text is taken apart into bytes: é or an emoji is one character, not several.",
    {"for character in string:": "for character in string.encode():"},
    CHARACTERS="sorted(set(text.encode()))",
    REFUSE='raise ValueError(f"{string!r} has a character that this tokenizer does not know")',
    IDS="[self.id_of[byte] for byte in string.encode()]",
    STRING='bytes(self.characters[i] for i in ids).decode(errors="replace")',
)
mistake(
    "words",
    "The text is cut into words: here a token is a single character.",
    {"for character in string:": "for character in string.split():"},
    CHARACTERS="sorted(set(text.split()))",
    IDS="[self.id_of[word] for word in string.split()]",
    STRING='" ".join(self.characters[i] for i in ids)',
)
mistake(
    "fixed-alphabet",
    "The ids come from a fixed alphabet and not from the text: only the characters of the text get one.",
    CHARACTERS="[chr(i) for i in range(32, 127)]",
)

# --- characters that vanish -----------------------------------------------------------------------

mistake(
    "small-letters-only",
    "Capitals are turned into small letters: they are characters of their own.",
    CHARACTERS="sorted(set(text.lower()))",
    CHECK="string = string.lower()\n        {CHECK}",
)
mistake(
    "line-ends-dropped",
    "Spaces or line ends are left out: they are characters like others.",
    CHARACTERS='sorted(set("".join(text.split())))',
    CHECK='string = "".join(string.split())\n        {CHECK}',
)
mistake(
    "accents-taken-apart",
    "The text is normalised first, so that é becomes two characters: take the characters as they come.",
    {"class CharTokenizer:": "from unicodedata import normalize\n\n\nclass CharTokenizer:"},
    CHARACTERS='sorted(set(normalize("NFD", text)))',
    CHECK='string = normalize("NFD", string)\n        {CHECK}',
)
mistake(
    "ascii-only",
    "Characters beyond ASCII are dropped: é and emoji are characters like others.",
    CHARACTERS='sorted(set(text.encode("ascii", "ignore").decode()))',
    CHECK="string = [c for c in string if c in self.id_of or c.isascii()]\n        {CHECK}",
)

mistake(
    "letters-composed",
    "The text is normalised first, so that a letter and the accent behind it become one: take the characters as they"
    " come.",
    {"class CharTokenizer:": "from unicodedata import normalize\n\n\nclass CharTokenizer:"},
    CHARACTERS='sorted(set(normalize("NFC", text)))',
    CHECK='string = normalize("NFC", string)\n        {CHECK}',
)
mistake(
    "carriage-returns-lost",
    "Carriage returns (`\\r`) are dropped or turned into `\\n`: leave line ends as they are, each is a character.",
    CHARACTERS='sorted(set("\\n".join(text.splitlines())))',
    CHECK='string = "\\n".join(string.splitlines())\n        {CHECK}',
)
mistake(
    "stripped",
    "Spaces and line ends at the beginning and the end are stripped: they are characters like others.",
    CHARACTERS="sorted(set(text.strip()))",
    CHECK="string = string.strip()\n        {CHECK}",
)
mistake(
    "beginning-alone",
    "Only the beginning of the text is searched for characters, so those that come later are unknown: take all of it.",
    CHARACTERS="sorted(set(text[:1000]))",
)
mistake(
    "cut-short",
    "`encode` takes a long text's beginning alone: there is an id for every character, however many there are.",
    IDS="[self.id_of[character] for character in string[:1000]]",
)

# --- encode and decode ----------------------------------------------------------------------------

mistake(
    "encode-sorts",
    "`encode` sorts the text that it is given: the ids keep the text's order.",
    IDS="[self.id_of[character] for character in sorted(string)]",
)
mistake(
    "each-once",
    "`encode` gives each different character once: there is one id for every character.",
    IDS="[self.id_of[character] for character in dict.fromkeys(string)]",
)
mistake(
    "text-of-the-constructor",
    "`encode` encodes the text that the tokenizer was built from, not its argument.",
    {"self.characters = sorted": "self.text = text\n        self.characters = sorted"},
    IDS="[self.id_of[character] for character in self.text]",
)
mistake(
    "decode-gives-a-list",
    "`decode` returns a list of characters: put them together with `''.join`.",
    STRING="[self.characters[i] for i in ids]",
)
mistake(
    "spaces-between",
    "`decode` puts spaces between the characters: join them with the empty string.",
    STRING='" ".join(self.characters[i] for i in ids)',
)
mistake(
    "decode-reversed",
    "`decode` gives the text backwards: keep the order of the ids.",
    STRING="{STRING}[::-1]",
)
mistake(
    "decode-one-off",
    "`decode` is off by one: id 0 is the first character of the sorted ones.",
    {"self.characters[i]": "self.characters[i - 1]"},
)

# --- types ----------------------------------------------------------------------------------------

mistake(
    "tensor-of-ids",
    "`encode` returns a tensor: a plain list of numbers is asked for.",
    IDS="torch.tensor({IDS}, dtype=torch.long)",
)
mistake(
    "tensors-in-a-list",
    "`encode` returns a list of tensors: its parts should be plain numbers.",
    ID="torch.tensor({ID})",
)
mistake("tuple-of-ids", "`encode` returns a tuple: a list is asked for.", IDS="tuple({IDS})")
mistake("floats", "The ids are floats: an index is a whole number.", ID="float({ID})")
mistake(
    "ids-in-a-byte",
    "The ids are kept in a byte (uint8), which counts to 255 alone: a text may have more different characters.",
    IDS="torch.tensor({IDS}, dtype=torch.long).to(torch.uint8).tolist()",
)
mistake(
    "ids-of-numpy",
    "The ids are NumPy's numbers: turn them into plain ones, with `int` or `.tolist()`.",
    {"class CharTokenizer:": "import numpy as np\n\n\nclass CharTokenizer:"},
    ID="np.int64({ID})",
)
mistake(
    "iterator-of-ids",
    "`encode` returns an iterator (`map`, or a generator in round brackets): make a list of it.",
    IDS="map(self.id_of.get, string)",
)
mistake("text-of-ids", "`encode` returns the ids as text: a list of numbers is asked for.", ID="str({ID})")
mistake(
    "empty-refused",
    "The empty string is refused: it has no characters, so its list of ids is empty.",
    CHECK="""if not string:
            raise ValueError("nothing to encode")
        {CHECK}""",
)

# --- the size of the vocabulary -------------------------------------------------------------------

mistake(
    "size-of-the-text",
    "`vocab_size` is the length of the text: count each different character once.",
    SIZE="len(text)",
)
mistake("largest-id", "`vocab_size` is the largest id: it is one more, since ids start at 0.", SIZE="{SIZE} - 1")
mistake(
    "room-for-the-unknown",
    "`vocab_size` is one too large, as if there were an id for unknown characters: those are refused.",
    SIZE="{SIZE} + 1",
)
mistake(
    "size-is-a-method",
    "`vocab_size` is a method that must be called: it should be an attribute or property.",
    {
        "self.vocab_size = {SIZE}\n        ": "",
        "def encode(": "def vocab_size(self):\n        return {SIZE}\n\n    def encode(",
    },
)

mistake(
    "size-not-kept",
    "There is no attribute `vocab_size`: keep the number of different characters under that name, on `self`.",
    {"self.vocab_size = ": "vocab_size = "},
)

# --- unknown characters ---------------------------------------------------------------------------

mistake(
    "unknown-is-a-keyerror",
    "An unknown character ends in a KeyError from a dict: raise a `ValueError`.",
    CHECK="",
)
mistake(
    "unknown-dropped",
    "An unknown character is dropped, or at most printed: raise a `ValueError` that names it.",
    CHECK="",
    IDS="[self.id_of[character] for character in string if character in self.id_of]",
)
mistake(
    "unknown-gets-an-id",
    "An unknown character gets an id, as `str.find` or `dict.get` may do: raise a `ValueError` that names it.",
    CHECK="",
    ID="self.id_of.get(character, -1)",
)
mistake(
    "unknown-not-named",
    "The `ValueError` for an unknown character does not say which one it is.",
    REFUSE='raise ValueError("the text holds an unknown character")',
)
mistake(
    "unknown-assert",
    "An unknown character stops at an `assert`, which raises an AssertionError: raise a `ValueError`.",
    {"if character not in self.id_of:\n                {REFUSE}": "assert character in self.id_of, character"},
)

# --- several tokenizers ---------------------------------------------------------------------------

mistake(
    "shared-by-all",
    "The characters are kept on the class (or globally), so a second tokenizer changes the first: keep them on `self`.",
    {
        "self.characters = sorted": "CharTokenizer.characters = sorted",
        "self.id_of = ": "CharTokenizer.id_of = ",
    },
    lasts=True,
)
mistake(
    "not-kept-on-self",
    "What the constructor made is gone when `encode` asks for it (NameError): keep it on `self`.",
    {"self.id_of = {": "id_of = {", "if character not in self.id_of": "if character not in id_of"},
    ID="id_of[character]",
)
