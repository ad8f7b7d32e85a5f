"""Trains the storyteller: some minutes of one core.

python -m storyteller.train                              # make storyteller: the whole recipe
python -m storyteller.train --steps 300 --save /tmp/x.pt # a short one
"""

import argparse
import random
import time
from pathlib import Path

import torch
import torch.nn.functional as F

from . import tales, weights
from .model import SHAPE, Storyteller, fuse

BATCH = 16  # tales a step
STEPS = 6400
EASY = 2000  # of these, the first ones see easy tales; without them no head learns to choose among distractors
PEAK = 3e-3  # learning rate, for the first 40% of the steps; then down in a line
WEIGHT_OF_REFERENCES = 4  # in the loss: their entropy is 0, so this doesn't move the best model


def made(words: int, seed: int) -> Storyteller:
    """An untrained storyteller. What layers add starts small: with torch's own start, heads get stuck at the start."""
    torch.manual_seed(seed)
    model = Storyteller(words, **SHAPE)
    with torch.no_grad():
        for block in model.layers:
            block.attention.out_proj.weight *= 0.3
            block.mlp.W_down.weight *= 0.3
    return model


def as_batch(sample: list[tales.Tale], places: dict[str, int]) -> tuple[torch.Tensor, torch.Tensor]:
    """Tales as numbers (b, t), -1 behind their ends; and how much each word but the first counts, (b, t-1)."""
    longest = max(len(tale.words) for tale in sample)
    read = torch.full((len(sample), longest), -1)
    for row, tale in enumerate(sample):
        read[row, : len(tale.words)] = torch.tensor([places[word] for word in tale.words])
    counts = (read[:, 1:] >= 0).float()
    for row, tale in enumerate(sample):
        for at, _ in tale.references:
            counts[row, at - 1] = WEIGHT_OF_REFERENCES
    return read, counts


def train(steps: int = STEPS, seed: int = 0, every: int = 200) -> Storyteller:
    """A storyteller after so many steps, its layers as in lesson 08. Prints its loss on the way."""
    vocabulary = tales.vocabulary()
    places = {word: place for place, word in enumerate(vocabulary)}
    model = made(len(vocabulary), seed)
    fuse(model)
    print(f"{len(vocabulary)} words, {sum(p.numel() for p in model.parameters()):,} weights", flush=True)
    matrices = [p for p in model.parameters() if p.dim() > 1]
    vectors = [p for p in model.parameters() if p.dim() == 1]
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": vectors, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=PEAK, betas=(0.9, 0.98))

    def rate(step):
        return min(1, (step + 1) / 50) * min(1, 0.02 + 0.98 * (steps - step) / (0.6 * steps))

    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, rate)
    rng, pool, started = random.Random(seed), [], time.process_time()
    loss_sum = nats = words = 0.0
    for step in range(1, steps + 1):
        if not pool:  # tales of like length together, so little is padded
            sample = sorted(
                (tales.tell(rng, easy=step <= EASY) for _ in range(32 * BATCH)), key=lambda tale: len(tale.words)
            )
            pool = [sample[start : start + BATCH] for start in range(0, len(sample), BATCH)]
            rng.shuffle(pool)
        rows = pool.pop()
        read, counts = as_batch(rows, places)
        logits = model(read[:, :-1].clamp(min=0))
        each = F.cross_entropy(logits.transpose(1, 2), read[:, 1:], ignore_index=-1, reduction="none")
        optimizer.zero_grad()
        ((each * counts).sum() / counts.sum()).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        loss_sum, nats = loss_sum + each.sum().item(), nats + sum(tale.nats for tale in rows)
        words += (counts > 0).sum().item()
        if step % every == 0 or step == steps:
            spent = time.process_time() - started
            print(f"step {step}: loss {loss_sum / words:.3f}, rules {nats / words:.3f}; {spent:.0f} s", flush=True)
            loss_sum = nats = words = 0.0
    for block in model.layers:
        del block.attention.__dict__["forward"]
    return model.eval()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--save", type=Path, default=weights.FILE, help="where the weights go, as text")
    options = parser.parse_args()
    torch.set_num_threads(1)
    model = train(options.steps, options.seed)
    options.save.write_text(weights.pack(model) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
