"""Tales from the harbour, made by rules: much of what comes next can only be known by looking back.

    python -m storyteller.tales        # some tales, and figures about them

A tale is a list of words. Nothing is copied from anywhere: the rules below are the whole corpus. Every random choice
adds the logarithm of its options to the tale's nats, so the mean loss that no model can beat (the entropy of the rules)
is known exactly.
"""

import math
import random
from collections.abc import Iterable
from typing import NamedTuple

ANIMALS = """fox hare badger heron snail goose mole hedgehog toad cat crow bear goat mouse squirrel seal crab gull pig
rabbit duck dog donkey tortoise wolf moth beetle sparrow""".split()
PLACES = (
    "river street bridge field square canal road marsh valley harbour stream meadow beach market garden pier".split()
)
THINGS = """lamp rope kettle letter bell pear key map spoon button drum hat pillow candle teapot violin whistle feather
ladder clock compass jug cake plum cheese loaf book kite shell ribbon mirror stone net broom cushion turnip pumpkin
carrot scarf boot""".split()
HOLDERS = "box drawer jar basket chest suitcase barrel cupboard".split()
NAMES = """Juniper Pim Clementine Oslo Tilda Bruno Marigold Fenn Rosalind Gus Pepper Hazel Moritz Nell Otto Saffron Bo
Linden Wilma Cosmo""".split()
MONTHS = "January February March April May June July August September October November December".split()
WEATHER = "foggy bright windy quiet rainy mild golden blue".split()
TIMES = "morning evening night day".split()

# what an animal may be, and what it does then
TIRED = {
    "tired": ["took a nap", "slept until Tuesday"],
    "hungry": ["went home for soup", "ate a sandwich instead"],
    "shy": ["hid behind a tree", "waved from far away"],
    "polite": ["let everyone else go first", "bowed and waited"],
    "proud": ["waited to be carried", "had a boat at home , of course"],
    "lazy": ["blamed the weather", "sent a letter instead"],
    "dizzy": ["sat down and counted to ten", "walked in a small circle"],
    "busy": ["wrote a list about lists", "had a meeting about soup"],
    "young": ["asked to grow up first", "promised to try next year"],
    "wise": ["stayed at home and was right", "had read about such things"],
    "sad": ["sang a small song", "looked at the rain for an hour"],
    "careful": ["measured everything twice", "went to look for a map"],
}
# what a place may be, and what it does then
WIDE = {
    "wide": ["went on and on", "had never tried to be narrow"],
    "deep": ["kept its secrets", "had swallowed a piano"],
    "long": ["had no end that day", "began again behind the hill"],
    "dark": ["waited for the moon", "had lost its lamp"],
    "noisy": ["would not stop talking", "sang an old song all night"],
    "muddy": ["had already eaten three boots", "hoped for another boot"],
    "slippery": ["laughed without a sound", "had been polished all night"],
    "crowded": ["had no room for one more", "smelled of a hundred sandwiches"],
    "wet": ["did not care", "thought that this was praise"],
    "steep": ["thought it was the sky", "looked down on everyone"],
    "cold": ["had forgotten the summer", "had invited the snow"],
    "empty": ["talked to the moon", "had been waiting for a visit"],
}
# why one animal doesn't catch another: because of itself, or because of the other
SLOW = {
    "slow": ["sat down and laughed", "arrived on Thursday"],
    "heavy": ["broke a branch", "had to rest on a stone"],
    "clumsy": ["fell over a root", "ran into a door"],
    "late": ["found nobody there", "blamed the clock"],
}
FAST = {
    "fast": ["waved from the hill", "was gone like a hiccup"],
    "quick": ["was home before tea", "had time to bow"],
    "clever": ["went the other way", "hid behind a newspaper"],
    "nimble": ["danced along the wall", "jumped over a wheelbarrow"],
}
# why one thing doesn't fit into another
BIG = "big thick round tall".split()
SMALL = "small tiny narrow shallow".split()
ASKERS = "moon sea lighthouse".split()  # who wants to know what was packed

START, END = "<s>", "</s>"
GUESS = "a guess"  # the kind of a word that weighs like a reference in training, though nothing settles it
# what may happen in a tale, and in the easy ones with which training begins; what stands twice comes more often
SCENES = ["crossing tired", "crossing wide"] * 2 + ["chase", "fit", "fit", "loan", "packing"]
EASY_SCENES = ["crossing tired", "crossing wide", "chase", "fit"] * 2


class Tale(NamedTuple):
    words: list[str]  # from <s> to </s>
    references: list[tuple[int, str]]  # which words are settled by what stands before them (or GUESS), and their kind
    nats: float  # of all random choices together


def held_out(one: str, other: str) -> bool:
    """Whether an animal and a place, or two animals, meet in no tale of the training set: one pair in 7 or 8."""
    if other in PLACES:
        return (ANIMALS.index(one) + PLACES.index(other)) % 8 == 0
    return (ANIMALS.index(one) + ANIMALS.index(other)) % 7 == 0


class Teller:
    """Tells one tale. With `new`, all its pairs are held-out ones, otherwise none is.

    An `easy` one has at most two scenes, and in a crossing nothing stands between the two nouns and "it".
    """

    def __init__(self, rng: random.Random, new: bool = False, easy: bool = False):
        self.rng, self.new, self.easy = rng, new, easy
        self.words: list[str] = []
        self.references: list[tuple[int, str]] = []
        self.nats = 0.0

    def pick(self, options: Iterable[str]) -> str:
        options = list(options)
        one = self.rng.choice(options)
        self.nats += math.log(len(options) / options.count(one))
        return one

    def some(self, options: Iterable[str], number: int) -> list[str]:
        options, taken = list(options), []
        for _ in range(number):
            taken.append(self.pick(options))
            options.remove(taken[-1])
        return taken

    def chance(self, one_in: int) -> bool:
        """True once in so many times."""
        hit = self.rng.randrange(one_in) == 0
        self.nats -= math.log(1 / one_in if hit else 1 - 1 / one_in)
        return hit

    def partner(self, animal: str, options: list[str], but: str = "") -> str:
        return self.pick(o for o in options if o not in (animal, but) and held_out(animal, o) == self.new)

    def say(self, *parts: str | tuple[str, str]) -> None:
        """Words, and pairs of a word that what stands before it settles and its kind of reference."""
        for part in parts:
            if isinstance(part, tuple):
                self.references.append((len(self.words), part[1]))
                self.words.append(part[0])
            else:
                self.words += part.split()

    def tell(self) -> Tale:
        scenes = EASY_SCENES if self.easy else SCENES
        one = self.pick(ANIMALS)
        pair = one, self.partner(one, ANIMALS)
        self.other = "the other one"
        if self.chance(5):  # a short one, in which nothing has named the second animal before it comes up
            self.other = GUESS
            scenes = [self.pick(scenes)]
        else:
            self.opening(*pair)
            scenes = self.some(scenes, int(self.pick("12" if self.easy else "123")))
        self.still: list[tuple[str, str]] = []
        self.later: list[list[str]] = []
        for scene in scenes:
            x, y = self.some(pair, 2)
            if scene.startswith("crossing"):
                self.crossing(x, y, scene)
            else:
                getattr(self, scene)(x, y)
        for things in self.later:
            self.ask(things)
        who_once = [who for who, _ in self.still]
        still = [(who, said) for who, said in self.still if who_once.count(who) == 1]
        if still and self.chance(2):
            who, said = still[self.rng.randrange(len(still))]
            self.nats += math.log(len(still))
            self.say(f"the next day the {who} was still too", (said, "still"), ".")
        return Tale([START, *self.words, END], [(at + 1, kind) for at, kind in self.references], self.nats)

    def opening(self, x: str, y: str) -> None:
        (n, o), month, weather, time = self.some(NAMES, 2), self.pick(MONTHS), self.pick(WEATHER), self.pick(TIMES)
        frame = self.pick("1234")
        if frame == "1":
            self.say(f"one {weather} {time} in {month} a {x} called {n} met a {y} called {o} .")
        elif frame == "2":
            self.say(
                f"a {x} called {n} lived by the sea with a {y} called {o} . it was a {weather} {time} in {month} ."
            )
        elif frame == "3":
            self.say(f"in {month} a {x} called {n} came to the lighthouse . a {y} called {o} was already there .")
            self.say(f"it was a {weather} {time} .")
        else:
            self.say(f"it was {month} , and a {weather} {time} . a {x} called {n} had tea with a {y} called {o} .")

    def explain(self, who: str, kind: str, said: str, lines: dict[str, list[str]]) -> None:
        """What was too …: told by what it did, or asked for."""
        if self.chance(2):
            self.say(f"what was too {said} ? the", (who, kind), ".")
        else:
            self.say("the", (who, kind), self.pick(lines[said]), ".")

    def crossing(self, x: str, y: str, scene: str) -> None:
        """Two nouns before "it", and often another animal or another place between."""
        place = self.partner(x, PLACES)
        beyond = self.partner(x, PLACES, but=place) if not self.easy and self.chance(3) else None
        speaker = y if not self.easy and self.chance(3) else None
        lines = TIRED if scene == "crossing tired" else WIDE
        said = self.pick(lines)
        x = "animal" if not self.easy and self.chance(4) else x
        who = x if lines is TIRED else place
        self.say(f"the {x} didn't cross the {place}", f"to the {beyond}" if beyond else "", "because")
        self.say(f", said the {speaker} ," if speaker else "", f"it was too {said} .")
        self.explain(who, scene, said, lines)
        self.still.append((who, said))

    def chase(self, x: str, y: str) -> None:
        said = self.pick([*SLOW, *FAST])
        slow = said in SLOW
        self.say(f"the {x} didn't catch the", (y, self.other), f"because it was too {said} .")
        self.explain(x if slow else y, "chase slow" if slow else "chase fast", said, SLOW | FAST)

    def fit(self, x: str, y: str) -> None:
        thing, holder, said = self.pick(THINGS), self.pick(HOLDERS), self.pick(BIG + SMALL)
        who, kind = (thing, "fit big") if said in BIG else (holder, "fit small")
        self.say(f"the {x} had a {thing} and a {holder} . " if self.chance(3) else "")
        self.say(f"the {thing} didn't fit into the {holder} because it was too {said} .")
        if self.chance(2):
            self.say(f"what was too {said} ? the", (who, kind), ".")
        else:
            self.say(f"so the {x} found a {'smaller' if said in BIG else 'larger'}", (who, kind), ".")

    def loan(self, x: str, y: str) -> None:
        """Who thanks depends on the verb."""
        thing = self.pick(THINGS)
        if self.chance(2):
            self.say(f"the {x} lent the", (y, self.other), f"a {thing} . “ thank you , ” said the", (y, "thanks"), ".")
        else:
            self.say(f"the {x} borrowed a {thing} from the", (y, self.other), ".")
            self.say("“ thank you , ” said the", (x, "thanks"), ".")

    def packing(self, x: str, y: str) -> None:
        things = self.some(THINGS, int(self.pick("34")))
        self.say(f"the {x} packed a", " , a ".join(things[:-1]), f"and a {things[-1]} .")
        if self.chance(2):
            self.ask(things)
        else:
            self.later.append(things)

    def ask(self, things: list[str]) -> None:
        self.say(f"“ what did you pack ? ” asked the {self.pick(ASKERS)} . “ a", (things[0], "list"))
        for thing in things[1:-1]:
            self.say((",", "list"), "a", (thing, "list"))
        self.say(("and", "list"), "a", (things[-1], "list"), ". ”")


def tell(rng: random.Random, new: bool = False, easy: bool = False) -> Tale:
    return Teller(rng, new, easy).tell()


def vocabulary() -> list[str]:
    """All words of the language, <s> and </s> first."""
    rng, words = random.Random(0), set()
    for _ in range(5000):
        words.update(tell(rng).words)
    return [START, END, *sorted(words - {START, END})]


def pretty(words: Iterable[str]) -> str:
    """Words as a text: capitals, and no blank before a full stop."""
    text, begins, before = "", True, ""
    for word in words:
        if word in (START, END):
            continue
        shown = word[0].upper() + word[1:] if begins else word
        text += shown if not text or text[-1] == "“" or word in ".,?”" else " " + shown
        begins, before = word in ".?“" or word == "”" and before == ".", word
    return text


def main() -> None:
    rng = random.Random(1)
    for number in range(8):
        print("-", pretty(tell(rng, new=number > 5).words), "\n")
    sample = [tell(rng) for _ in range(3000)]
    lengths = [len(tale.words) - 1 for tale in sample]
    words = sum(lengths)
    print(f"{len(vocabulary())} words; {min(lengths)} to {max(lengths)} words a tale, mean {words / len(sample):.0f}")
    print(
        f"{sum(t.nats for t in sample) / words:.3f} nats a word; {sum(t.nats for t in sample) / len(sample):.0f} a tale"
    )
    print(f"{sum(len(t.references) for t in sample) / words:.3f} of all words are settled by what stands before")
    print(f"{len({' '.join(t.words) for t in sample})} different tales of {len(sample)}")
    pairs = [(a, b) for a in ANIMALS for b in ANIMALS if a != b], [(a, p) for a in ANIMALS for p in PLACES]
    print("held out:", ", ".join(f"{sum(held_out(*pair) for pair in those)} of {len(those)} pairs" for those in pairs))


if __name__ == "__main__":
    main()
