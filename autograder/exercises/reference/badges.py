"""A made-up language in which facts come first and are asked for later; how likely each token is, exactly."""

import math

import torch

NAMES, COLOURS, FILLERS = 8, 4, 8
CHOICES = 2  # fillers, and names to ask for, that may follow a token
SIZE = NAMES * COLOURS + NAMES + COLOURS + FILLERS  # of the vocabulary


class Language:
    """One such language: which number stands for which token, and what may follow what, are drawn by the generator.

    A text begins with one token for each name, always in the same order, which also says the name's colour in this
    text: any of four. Then come fillers and questions. A question names one of the names, and its colour follows, one
    of four other tokens. After a filler or a colour one of four tokens comes, two fillers and two questions, each as
    likely as another.
    """

    def __init__(self, generator: torch.Generator) -> None:
        self.numbers = torch.randperm(SIZE, generator=generator)  # of: name and colour; question; colour; filler
        follow = [
            torch.cat([torch.randperm(many, generator=generator)[:CHOICES] + first for many, first in KINDS])
            for _ in range(COLOURS + FILLERS + 1)
        ]
        self.follow = torch.stack(follow)  # (after a colour, a filler, or the beginning: what may come)

    def texts(self, count: int, length: int, generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
        """(texts, the logarithm of how likely each token is after those before it), (count, length) each."""
        colours = torch.randint(COLOURS, (count, NAMES), generator=generator)
        chosen = torch.randint(2 * CHOICES, (count, length), generator=generator)
        every, tokens = torch.arange(count), torch.zeros(count, length, dtype=torch.long)
        likely = torch.full((count, length), -math.log(2 * CHOICES), dtype=torch.float64)
        after, asked = torch.full((count,), COLOURS + FILLERS), torch.full((count,), -1)
        for place in range(length):
            if place < NAMES:
                tokens[:, place], likely[:, place] = place * COLOURS + colours[:, place], -math.log(COLOURS)
                continue
            colour, answers = colours[every, asked.clamp(min=0)], asked >= 0
            free = self.follow[after, chosen[:, place]]
            asks = ~answers & (free < QUESTION + NAMES)
            tokens[:, place] = torch.where(answers, ANSWER + colour, free)
            likely[answers, place] = 0.0
            after = torch.where(answers, colour, torch.where(asks, after, free - FILLER + COLOURS))
            asked = torch.where(asks, free - QUESTION, -1)
        return self.numbers[tokens], likely


QUESTION = NAMES * COLOURS  # the first token that asks; before it, those that say a name and its colour
ANSWER = QUESTION + NAMES
FILLER = ANSWER + COLOURS
KINDS = ((FILLERS, FILLER), (NAMES, QUESTION))
