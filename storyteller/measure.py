"""What the storyteller can do: shares of right answers, its loss beside that of a table, and which head looks where.

python -m storyteller.measure        # of the stored weights
"""

import collections
import math
import random

import torch
import torch.nn.functional as F

from . import tales, weights
from .model import PARTS, Storyteller
from .train import as_batch

VOCABULARY = tales.vocabulary()
PLACES = {word: place for place, word in enumerate(VOCABULARY)}


def numbered(sentences: list[list[str]]) -> torch.Tensor:
    """Sentences of one length as numbers (b, t)."""
    return torch.tensor([[PLACES[word] for word in sentence] for sentence in sentences])


@torch.no_grad()
def scores(model: Storyteller, new: bool, count: int = 600, seed: int = 7) -> dict:
    """Loss, its lower bound, and the share right of each kind of reference, on tales that training never held."""
    rng = random.Random(seed)
    sample = sorted((tales.tell(rng, new) for _ in range(count)), key=lambda tale: len(tale.words))
    right, asked, loss, words = collections.Counter(), collections.Counter(), 0.0, 0
    for start in range(0, count, 50):
        rows = sample[start : start + 50]
        read, counts = as_batch(rows, PLACES)
        logits = model(read[:, :-1].clamp(min=0))
        loss += F.cross_entropy(logits.transpose(1, 2), read[:, 1:], ignore_index=-1, reduction="sum").item()
        words += int((counts > 0).sum())
        best = logits.argmax(dim=-1)
        for row, tale in enumerate(rows):
            for at, kind in tale.references:
                if kind == tales.GUESS:
                    continue
                asked[kind] += 1
                right[kind] += VOCABULARY[best[row, at - 1]] == tale.words[at]
    kinds = {kind: (right[kind], asked[kind]) for kind in sorted(asked)}
    return {"loss": loss / words, "rules": sum(tale.nats for tale in sample) / words, "kinds": kinds}


def pairs(count: int = 400, seed: int = 3, between: bool = False) -> list[dict]:
    """Held-out minimal pairs: one sentence that ends in a word such as "tired", one in a word such as "wide".

    With `between`, another animal and another place stand between the two nouns and "it".
    """
    rng, found = random.Random(seed), []
    while len(found) < count:
        teller = tales.Teller(rng, new=True)
        x = rng.choice(tales.ANIMALS)
        y, place = teller.partner(x, tales.ANIMALS), teller.partner(x, tales.PLACES)
        teller.opening(x, y)
        start = [tales.START, *teller.words]
        beyond = teller.partner(x, tales.PLACES, but=place)
        because = f"to the {beyond} because , said the {y} , it" if between else "because it"
        ends = rng.choice(list(tales.TIRED)), rng.choice(list(tales.WIDE))
        middle = f"the {x} didn't cross the {place} {because} was too".split()
        sentences = [[*start, *middle, end, ".", "the"] for end in ends]
        at = {"animal": len(start) + 1, "place": len(start) + 5, "adjective": len(sentences[0]) - 3}
        found.append({"sentences": sentences, "answers": (x, place), **at})
    return found


@torch.no_grad()
def pairs_right(model: Storyteller, found: list[dict]) -> tuple[int, int, int]:
    """How many pairs are continued rightly after "tired", after "wide", and after both."""
    counts = [0, 0, 0]
    for pair in found:
        says = [VOCABULARY[i] for i in model(numbered(pair["sentences"]))[:, -1].argmax(dim=-1).tolist()]
        ok = [said == answer for said, answer in zip(says, pair["answers"], strict=True)]
        counts = [n + hit for n, hit in zip(counts, [*ok, all(ok)], strict=True)]
    return counts[0], counts[1], counts[2]


@torch.no_grad()
def heads(model: Storyteller, read: torch.Tensor) -> torch.Tensor:
    """The attention weights of all heads: (b, t) -> (layers, b, heads, t, t)."""
    x, found, rope = model.table[read], [], PARTS["apply_rope"]
    past = torch.ones(read.shape[1], read.shape[1], dtype=torch.bool).tril()
    for block in model.layers:
        attention, normed = block.attention, block.attention_norm(x)
        query, key = (
            rope(layer(normed).unflatten(2, (-1, 16)).transpose(1, 2), torch.arange(read.shape[1]))
            for layer in (attention.W_query, attention.W_key)
        )
        key = key.repeat_interleave(query.shape[1] // key.shape[1], dim=1)
        found.append((query @ key.transpose(2, 3) / 4).masked_fill(~past, -torch.inf).softmax(dim=-1))
        x = block(x)
    return torch.stack(found)


def where_heads_look(model: Storyteller, found: list[dict]) -> dict[tuple[int, int], list[float]]:
    """Per head, at "the" after the adjective: weight on the animal and the place after "tired"; the same after "wide";
    and on the adjective in both."""
    sums = torch.zeros(3, 4, 6)
    for pair in found:
        last = heads(model, numbered(pair["sentences"]))[:, :, :, -1]  # (layers, 2, heads, t)
        nouns = last[..., [pair["animal"], pair["place"]]]
        adjective = last[..., pair["adjective"]]
        sums += torch.cat([nouns[:, 0], nouns[:, 1], adjective[:, 0, :, None], adjective[:, 1, :, None]], dim=-1)
    means = sums / len(found)
    return {(layer, head): means[layer, head].tolist() for layer in range(3) for head in range(4)}


def weight_on_start(model: Storyteller, count: int = 100, seed: int = 7) -> torch.Tensor:
    """How much each head gives to <s>, the mean over all later words of tales: (layers, heads)."""
    rng, sums, rows = random.Random(seed), torch.zeros(3, 4), 0
    for tale in (tales.tell(rng, new=True) for _ in range(count)):
        weights = heads(model, numbered([tale.words]))[:, 0, :, 1:, 0]
        sums, rows = sums + weights.sum(dim=-1), rows + weights.shape[-1]
    return sums / rows


class Without:
    """A `with` in which some heads, (layer, head) each, give 0."""

    def __init__(self, model: Storyteller, cut: list[tuple[int, int]]):
        self.model, self.cut = model, cut

    def __enter__(self):
        def silence(head):
            def hook(_, given):
                silent = given[0].clone()
                silent[..., 16 * head : 16 * head + 16] = 0
                return (silent,)

            return hook

        self.hooks = [
            self.model.layers[layer].attention.out_proj.register_forward_pre_hook(silence(head))
            for layer, head in self.cut
        ]

    def __exit__(self, *_):
        for hook in self.hooks:
            hook.remove()


class Table:
    """Counts what followed each one, two and three words (Witten-Bell smoothing, as in lesson 07)."""

    def __init__(self, count: int = 20_000, seed: int = 0, longest: int = 3):
        self.longest = longest
        self.counts: list[dict] = [collections.defaultdict(collections.Counter) for _ in range(longest + 1)]
        rng = random.Random(seed)
        for _ in range(count):
            words = tales.tell(rng).words
            for at in range(1, len(words)):
                for length in range(min(longest, at) + 1):
                    self.counts[length][tuple(words[at - length : at])][words[at]] += 1

    def probability(self, before: list[str], word: str) -> float:
        p = 1 / len(VOCABULARY)
        for length in range(min(self.longest, len(before)) + 1):
            seen = self.counts[length].get(tuple(before[len(before) - length :]))
            if seen:
                total, different = sum(seen.values()), len(seen)
                p = (seen[word] + different * p) / (total + different)
        return p

    def loss(self, new: bool, count: int = 600, seed: int = 7) -> float:
        rng, nats, words = random.Random(seed), 0.0, 0
        for tale in (tales.tell(rng, new) for _ in range(count)):
            for at in range(1, len(tale.words)):
                nats -= math.log(self.probability(tale.words[max(0, at - self.longest) : at], tale.words[at]))
                words += 1
        return nats / words


@torch.no_grad()
def write(
    model: Storyteller, start: str, most: int = 120, seed: int = 0, temperature: float = 0.7
) -> tuple[list[str], float]:
    """A tale that goes on after some words, and how close a draw came to another word, as a probability."""
    words, close = start.split(), 1.0
    for chance in torch.rand(most, generator=torch.Generator().manual_seed(seed)).tolist():
        until = (model(numbered([words]))[0, -1] / temperature).softmax(dim=0).cumsum(dim=0)
        drawn = min(int((until <= chance).sum()), len(VOCABULARY) - 1)
        close = min(close, abs(until[drawn].item() - chance), abs(until[max(drawn - 1, 0)].item() - chance))
        words.append(VOCABULARY[drawn])
        if words[-1] == tales.END:
            break
    return words, close


def main() -> None:
    torch.set_num_threads(1)
    model = weights.load(weights.FILE.read_text(), len(VOCABULARY))
    table = Table()
    for name, new in (("held-out pairs", True), ("pairs of the training set", False)):
        got = scores(model, new)
        print(f"{name}: loss {got['loss']:.3f}, rules {got['rules']:.3f}, table of three words {table.loss(new):.3f}")
        for kind, (right, asked) in got["kinds"].items():
            print(f"  {kind:<16} {right:>5} of {asked:>5}  {right / asked:.3f}")
    plain, hard = pairs(), pairs(between=True)
    for name, found in (("", plain), (", others between", hard)):
        print(f"of 400 minimal pairs{name}, right after tired, wide, both:", pairs_right(model, found))
    for name, found in (("plain", plain), ("others between", hard)):
        print(f"{name}: layer.head: after tired: animal, place | after wide: animal, place | adjective in both")
        for (layer, head), (a, b, c, d, e, f) in where_heads_look(model, found).items():
            switches = "  <- switches" if a - c > 0.25 and d - b > 0.25 else ""
            print(f"  {layer + 1}.{head + 1}: {a:.2f} {b:.2f} | {c:.2f} {d:.2f} | {e:.2f} {f:.2f}{switches}")
    single = [(layer, head) for layer in range(3) for head in range(4)]
    left = {}
    for cut in single:
        with Without(model, [cut]):
            left[cut] = sum(pairs_right(model, hard)[:2])
    needed = sorted(single, key=left.__getitem__)
    for cut in [[one] for one in needed] + [needed[:2], needed[:3]]:
        with Without(model, cut):
            named = ", ".join(f"{layer + 1}.{head + 1}" for layer, head in cut)
            print(f"without {named}: {pairs_right(model, plain)}, others between {pairs_right(model, hard)}")
    print("weight on <s>, layer by layer:", [[round(w, 2) for w in row] for row in weight_on_start(model).tolist()])
    for seed in range(4):
        print("-", tales.pretty(write(model, tales.START, seed=seed)[0]))


if __name__ == "__main__":
    main()
