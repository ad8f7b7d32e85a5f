"""The picture of what was measured of a class's answers: loss against bytes, one dot a student, by pseudonym."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from ..verdict import MEASURES, Verdict

WIDTH, HEIGHT = 640, 380  # of the picture, in pixels
LEFT, RIGHT, TOP, BOTTOM = 64, 24, 16, 52  # its margins
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
STEPS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)  # between marks of the upright axis
MOST_MARKS = 6
NEAR = 13  # pixels between dots whose names are written side by side


@dataclass(frozen=True)
class Dot:
    """One student's answer: `who` is a pseudonym."""

    who: str
    bytes: float
    loss: float


def pseudonyms(verdicts: Sequence[tuple[str, Verdict]]) -> dict[str, str]:
    """A letter, or several, for each student, in an order that nobody knows without the seeds of the inputs."""

    def place(one: tuple[str, Verdict]) -> bytes:
        return hashlib.sha256(f"{one[1].seed}/{one[0]}".encode(errors="surrogatepass")).digest()

    order = sorted(verdicts, key=place)
    return {student: _letters(number) for number, (student, _) in enumerate(order)}


def _letters(number: int) -> str:
    """A, B, …, Z, AA, AB, …"""
    more, last = divmod(number, len(LETTERS))
    return (_letters(more - 1) if more else "") + LETTERS[last]


def dots(exercise: str, verdicts: Iterable[tuple[str, Verdict]], names: dict[str, str]) -> list[Dot]:
    """The dots of an exercise: of those answers of which both was measured."""
    found = []
    for student, verdict in verdicts:
        outcome = verdict.exercise(exercise)
        if outcome and outcome.measured.keys() >= {"bytes", "loss"}:
            found.append(Dot(names[student], outcome.measured["bytes"], outcome.measured["loss"]))
    return sorted(found, key=lambda dot: (len(dot.who), dot.who))


def close(places: Iterable[tuple[float, float, str]]) -> list[list[tuple[float, float, str]]]:
    """Dots (x, y, name) in groups of those so close together that their names would cover each other."""
    groups: list[list[tuple[float, float, str]]] = []
    for x, y, who in places:
        near = next((one for one in groups if abs(one[0][0] - x) < NEAR and abs(one[0][1] - y) < NEAR), None)
        if near:
            near.append((x, y, who))
        else:
            groups.append([(x, y, who)])
    return groups


def picture(title: str, found: Sequence[Dot]) -> Markup:
    """The picture as SVG: bytes to the right, each mark twice the one before, and loss upwards."""
    low = math.floor(math.log2(max(1.0, min(dot.bytes for dot in found))))
    high = max(low + 1, math.ceil(math.log2(max(1.0, max(dot.bytes for dot in found)))))
    top = max(0.05, max(dot.loss for dot in found))
    step = next((one for one in STEPS if top / one <= MOST_MARKS), top / MOST_MARKS)
    top = step * math.ceil(top / step)

    def across(value: float) -> float:
        return LEFT + (math.log2(max(value, 2**low)) - low) / (high - low) * (WIDTH - LEFT - RIGHT)

    def up(value: float) -> float:
        return HEIGHT - BOTTOM - min(max(value, 0.0), top) / top * (HEIGHT - TOP - BOTTOM)

    def parts() -> Iterator[str]:
        about = f"{title}: {MEASURES['loss']} against {MEASURES['bytes']}, {len(found)} answers"
        yield (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
            f' role="img" font-family="system-ui, sans-serif" font-size="12" fill="currentColor"><title>{about}</title>'
        )
        for number in range(low, high + 1):
            x = across(2**number)
            yield f'<path d="M{x:.1f} {TOP}V{HEIGHT - BOTTOM}" stroke="currentColor" stroke-opacity=".15"/>'
            yield f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{2**number:,}</text>'
        for number in range(round(top / step) + 1):
            y = up(number * step)
            yield f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="currentColor" stroke-opacity=".15"/>'
            yield f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{number * step:.3g}</text>'
        middle = (TOP + HEIGHT - BOTTOM) / 2
        centre = (LEFT + WIDTH - RIGHT) / 2
        yield f'<text x="{centre}" y="{HEIGHT - 12}" text-anchor="middle">{MEASURES["bytes"]}</text>'
        turned = f'transform="rotate(-90 16 {middle})"'
        yield f'<text x="16" y="{middle}" text-anchor="middle" {turned}>{MEASURES["loss"]}</text>'
        for dot in found:
            x, y = across(dot.bytes), up(dot.loss)
            said = f"{dot.who}: {dot.loss:.3f} {MEASURES['loss']}, {dot.bytes:.0f} {MEASURES['bytes']}"
            circle = f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="#6b8fb8" fill-opacity=".8"/>'
            yield f"<g><title>{said}</title>{circle}</g>"
        for group in close([(across(dot.bytes), up(dot.loss), dot.who) for dot in found]):
            x, y, _ = group[0]
            names, end = ", ".join(who for _, _, who in group), x > WIDTH - RIGHT - 40
            place = f'x="{x - 8:.1f}" text-anchor="end"' if end else f'x="{x + 8:.1f}"'
            yield f'<text {place} y="{y - 4:.1f}">{names}</text>'
        yield "</svg>"

    return Markup("\n".join(parts()))  # letters and numbers, and texts of the kit: nothing of a student's
