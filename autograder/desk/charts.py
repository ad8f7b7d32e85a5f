"""Bars as inline SVG, which need neither script nor style: each may be a link."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from markupsafe import Markup

HEIGHT, TOP, BOTTOM = 130, 20, 22  # of a picture, of the space above the bars, and below them
WIDTH = 720


@dataclass(frozen=True)
class Bar:
    """A bar: how many, what to say of it, the words below it ("" for none), and where it leads ("" for nowhere)."""

    count: int
    says: str
    below: str = ""
    href: str = ""


def bars(title: str, found: Sequence[Bar], line: float | None = None, says: str = "") -> Markup:
    """A picture of bars that fills its place in width.

    `line` is where a vertical line stands, in bars from the left, and `says` what it means. Everything is escaped.
    """
    return Markup("\n".join(_parts(title, found, line, says)))


def _parts(title: str, found: Sequence[Bar], line: float | None, says: str) -> Iterator[str]:
    tallest, step = max([one.count for one in found], default=0) or 1, WIDTH / max(1, len(found))
    room, ground = HEIGHT - TOP - BOTTOM, HEIGHT - BOTTOM
    yield (
        f'<svg class="bars" viewBox="0 0 {WIDTH} {HEIGHT}" role="group" aria-label="{escape(title)}"'
        f' preserveAspectRatio="xMinYMid meet">'
    )
    yield f'<path class="ground" d="M0 {ground}H{WIDTH}"/>'
    for number, one in enumerate(found):
        height = max(2.0, room * one.count / tallest) if one.count else 0.0
        left, wide = number * step, max(1.0, step * 0.86)
        drawn = f'<rect class="bar" x="{left:.1f}" y="{ground - height:.1f}" width="{wide:.1f}" height="{height:.1f}"/>'
        if one.count and len(found) <= 24:
            drawn += (
                f'<text x="{left + wide / 2:.1f}" y="{ground - height - 5:.1f}" text-anchor="middle">{one.count}</text>'
            )
        if one.count:
            yield _linked(one, f"<title>{escape(one.says)}</title>{drawn}")
        if one.below:
            yield f'<text class="below" x="{left:.1f}" y="{HEIGHT - 6}">{escape(one.below)}</text>'
    if line is not None:
        x = min(WIDTH - 1.0, max(1.0, line * step))
        yield f'<path class="due" d="M{x:.1f} 0V{ground}"><title>{escape(says)}</title></path>'
        yield (
            f'<text x="{x - 5:.1f}" y="12" text-anchor="end">{escape(says)}</text>'
            if x > WIDTH / 2
            else (f'<text x="{x + 5:.1f}" y="12">{escape(says)}</text>')
        )
    yield "</svg>"


def _linked(one: Bar, drawn: str) -> str:
    if not one.href:
        return f'<g role="img" aria-label="{escape(one.says)}">{drawn}</g>'
    return f'<a href="{escape(one.href)}" aria-label="{escape(one.says)}">{drawn}</a>'
