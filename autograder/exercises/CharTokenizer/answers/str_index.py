"""str.index, whose own ValueError is put into better words."""

from dataclasses import dataclass, field


@dataclass
class CharTokenizer:
    text: str
    chars: list = field(init=False)
    vocab_size: int = field(init=False)

    def __post_init__(self):
        self.chars = []
        for character in sorted(self.text):
            if not self.chars or self.chars[-1] != character:
                self.chars.append(character)
        self.vocab_size = len(self.chars)

    def encode(self, text):
        ids = []
        for character in text:
            try:
                ids.append(self.chars.index(character))
            except ValueError:
                raise ValueError(f"{character} is not one of the {self.vocab_size} known characters") from None
        return ids

    def decode(self, ids):
        text = ""
        for i in ids:
            text += self.chars[i]
        return text
