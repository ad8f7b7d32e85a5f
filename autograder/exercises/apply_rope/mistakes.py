"""What goes wrong in `apply_rope(x, positions, base=10000.0)`, as edits of the course's own answer."""

from ...mistakes.bank import Bank
from ...mistakes.prices import ALL
from ..families import forms
from ..families.wordings import says

BANK = Bank(
    "apply_rope",
    places={
        "SIGNATURE": "x, positions, base=10000.0):",
        "START": "d = x.shape[-1]",
        "CHECK": """if d % 2:
        raise ValueError(f"the width has to be even, so that it can be cut into pairs, and it is {d}")""",
        "FOR_ALL_HEADS": """while 1 < positions.dim() < x.dim() - 1:
        positions = positions.unsqueeze(1)""",
        "WIDE": "torch.promote_types(x.dtype, torch.float32)",
        "EXPONENTS": "torch.arange(0, d, 2, dtype=wide, device=x.device) / d",
        "PLACES": "positions.unsqueeze(-1).to(wide)",
        "FREQUENCIES": "base**-exponents",
        "ANGLES": "positions.unsqueeze(-1).to(wide) * base**-exponents",
        "COS_SIN": "cos, sin = angles.cos(), angles.sin()",
        "PARTS": "x.to(wide).chunk(2, dim=-1)",
        "FIRST": "first * cos - second * sin",
        "SECOND": "first * sin + second * cos",
        "TOGETHER": "torch.cat([first * cos - second * sin, first * sin + second * cos], dim=-1)",
        "RETURN": "return turned.to(x.dtype)",
    },
    seen_on_a_gpu="turned-backwards",
)
mistake = BANK.mistake

# --- which numbers are turned, and which way ------------------------------------------------------

mistake(
    "neighbours-turned",
    "These are the values you get when neighbours, 2i and 2i + 1, are pairs, as in the paper: here a pair is i and"
    " i + d/2, one number of each half.",
    PARTS="x.to(wide)[..., ::2], x.to(wide)[..., 1::2]",
    TOGETHER="torch.stack([{FIRST}, {SECOND}], dim=-1).flatten(-2)",
)
mistake(
    "halves-in-neighbours-out",
    "The halves are turned rightly and then interleaved: place the first numbers of all pairs side by side, then the"
    " second ones.",
    TOGETHER="torch.stack([{FIRST}, {SECOND}], dim=-1).flatten(-2)",
)
mistake(
    "neighbours-in-halves-out",
    "Neighbours are turned, and what comes out is placed in halves: a pair is i and i + d/2 from the beginning.",
    PARTS="x.to(wide)[..., ::2], x.to(wide)[..., 1::2]",
)
mistake(
    "two-layouts-mixed",
    "The angles are repeated for neighbours, and the numbers are paired across the halves, so that the two numbers of a"
    " pair are turned by different angles. Repeat all angles as a whole, `torch.cat([angles, angles], dim=-1)`.",
    PARTS="x.to(wide), torch.cat([-x.to(wide).chunk(2, dim=-1)[1], x.to(wide).chunk(2, dim=-1)[0]], dim=-1)",
    COS_SIN="cos, sin = angles.cos().repeat_interleave(2, dim=-1), angles.sin().repeat_interleave(2, dim=-1)",
    TOGETHER="first * cos + second * sin",
)
mistake(
    "angles-repeated-for-halves-of-neighbours",
    "The numbers are paired with their neighbours, and the angles are repeated for the halves, so that the two numbers"
    " of a pair are turned by different angles. Pair i with i + d/2.",
    PARTS="x.to(wide), torch.stack([-x.to(wide)[..., 1::2], x.to(wide)[..., ::2]], dim=-1).flatten(-2)",
    COS_SIN="cos, sin = torch.cat([angles, angles], dim=-1).cos(), torch.cat([angles, angles], dim=-1).sin()",
    TOGETHER="first * cos + second * sin",
)
mistake(
    "turned-backwards",
    "These are the values you get when pairs are turned the other way round: it is x1 cos − x2 sin, then"
    " x1 sin + x2 cos.",
    FIRST="first * cos + second * sin",
    SECOND="second * cos - first * sin",
)
mistake(
    "minus-missing",
    "Both sums have a plus: it is x1 cos − x2 sin, then x1 sin + x2 cos, else a pair changes its length.",
    FIRST="first * cos + second * sin",
)
mistake(
    "minus-twice",
    "Both sums have a minus: it is x1 cos − x2 sin, then x1 sin + x2 cos, else nothing is turned but mirrored.",
    SECOND="first * sin - second * cos",
)
mistake(
    "sine-and-cosine-swapped",
    "These are the values you get when sine and cosine change places: at position 0 the cosine is 1, and the token"
    " stays as it is.",
    COS_SIN="sin, cos = angles.cos(), angles.sin()",
)
mistake(
    "halves-swapped",
    "The halves come out in the wrong order: x1 cos − x2 sin comes first.",
    TOGETHER="torch.cat([{SECOND}, {FIRST}], dim=-1)",
)
mistake(
    "second-half-first",
    "The second half is taken for x1 and the first for x2: x1 is the first half.",
    PARTS="x.to(wide).chunk(2, dim=-1)[::-1]",
)
mistake(
    "first-half-changed-too-early",
    "The new first half is used to compute the second: both are made of the old numbers.",
    TOGETHER="torch.cat([first := {FIRST}, {SECOND}], dim=-1)",
)
mistake(
    "one-half-left-as-it-is",
    "Only the first half of the output is turned, and the second stays as it was: a rotation changes both.",
    SECOND="second",
)
mistake(
    "half-of-the-pairs",
    "Only half of the pairs are turned, and the rest of each token stays as it is: all d numbers take part, as d/2"
    " pairs.",
    COS_SIN="some = torch.arange(d // 2, device=x.device) < max(d // 4, 1)\n"
    "    cos, sin = torch.where(some, angles, 0).cos(), torch.where(some, angles, 0).sin()",
)
mistake(
    "sine-and-cosine-added",
    "Sines and cosines are added to the token, as learned places are: RoPE multiplies, so that pairs are turned.",
    price=ALL,
    FIRST="first + sin",
    SECOND="second + cos",
)
mistake(
    "multiplied-by-the-cosine-alone",
    "Both halves are multiplied by the cosine alone: the sine, which brings in the other half, is missing.",
    price=ALL,
    FIRST="first * cos",
    SECOND="second * cos",
)
mistake(
    "product-of-cosines",
    "Both halves are multiplied by their own angle's cosine and sine: a rotation mixes the two halves.",
    price=ALL,
    FIRST="first * cos",
    SECOND="second * sin",
)

mistake(
    "sine-times-the-sum",
    "The sine multiplies the sum, or is multiplied with it, as a bracket is missing or one too many: it is x · cos +"
    " turned x · sin, each product by itself.",
    FIRST="(first * cos - second) * sin",
    SECOND="(second * cos + first) * sin",
)
BANK.variant("sine-times-the-sum", FIRST="first * (cos - second) * sin", SECOND="second * (cos + first) * sin")
BANK.variant("sine-times-the-sum", FIRST="first * (cos - second * sin)", SECOND="second * (cos + first * sin)")
BANK.variant("sine-times-the-sum", FIRST="-second * (cos + first * sin)", SECOND="first * (cos + second * sin)")
BANK.variant("sine-times-the-sum", FIRST="(first - second * cos) * sin", SECOND="(second + first * cos) * sin")

# --- by what angle --------------------------------------------------------------------------------

mistake(
    "exponent-i",
    says("exponent-i", WIDTH="d"),
    EXPONENTS="torch.arange(d // 2, dtype=wide, device=x.device) / d",
)
mistake(
    "exponent-doubled",
    "These are the values you get with base^(−4i/d), as when 2i is divided by the number of pairs: divide it by d.",
    EXPONENTS="torch.arange(0, d, 2, dtype=wide, device=x.device) / (d // 2)",
)
mistake(
    "pairs-counted-from-1",
    says("pairs-counted-from-1"),
    EXPONENTS="torch.arange(2, d + 2, 2, dtype=wide, device=x.device) / d",
)
mistake(
    "exponents-up-to-1",
    "The exponents run evenly from 0 to −1, the last one included: −2i/d stops before it.",
    EXPONENTS="torch.linspace(0, 1, d // 2, dtype=wide, device=x.device)",
)
mistake(
    "exponent-not-divided",
    "The exponent is −2i: divide it by d.",
    EXPONENTS="torch.arange(0, d, 2, dtype=wide, device=x.device)",
)
forms.add_powers(BANK, "FREQUENCIES", "torch.arange(0, d, 2, dtype=wide, device=x.device)", "d")
mistake(
    "frequencies-grow",
    says("frequencies-grow", WIDTH="d"),
    FREQUENCIES="base**exponents",
)
mistake(
    "frequencies-reversed",
    "The frequencies come in reverse order: the first pair turns fastest.",
    FREQUENCIES="base**-exponents.flip(0)",
)
mistake(
    "one-frequency",
    "All pairs are turned by the same angle: that of pair i is position · base^(−2i/d).",
    FREQUENCIES="base**-(exponents * 0)",
)
mistake(
    "base-ignored",
    says("base-ignored", BASE="base"),
    FREQUENCIES="10000.0**-exponents",
)
mistake(
    "base-not-taken",
    "The function has no argument `base`: it is `apply_rope(x, positions, base=10000.0)`.",
    SIGNATURE="x, positions):",
    FREQUENCIES="10000.0**-exponents",
)
mistake(
    "base-of-llama-3",
    "The base is 500,000 where none is given: the default is 10,000.",
    SIGNATURE="x, positions, base=500000.0):",
)
mistake(
    "base-of-1000",
    "The base is 1,000 where none is given: the default is 10,000.",
    SIGNATURE="x, positions, base=1000.0):",
)
mistake(
    "degrees",
    "The angles are taken for degrees: torch's sine and cosine want radians, which they are already.",
    ANGLES="torch.deg2rad({ANGLES})",
)
mistake(
    "whole-turns",
    "The angles are multiplied by 2π: the first pair turns by one radian from place to place, not by a whole turn.",
    ANGLES="2 * math.pi * {ANGLES}",
)
mistake(
    "divided-by-the-root",
    "The output is divided by the root of d: RoPE turns, and leaves lengths as they are. The scale belongs to the"
    " scores.",
    RETURN="return (turned / d**0.5).to(x.dtype)",
)

# --- which positions ------------------------------------------------------------------------------

mistake(
    "positions-restarted",
    "The positions that are passed in make no difference, and tokens are counted from 0: use the argument. A token that"
    " comes from the middle of a text has another place.",
    START="{START}\n    positions = torch.arange(x.shape[-2], device=x.device)",
)
mistake(
    "counted-from-the-first",
    "Tokens are counted from the first position on, whatever the others are: use each position as it is given.",
    START="{START}\n"
    "    positions = positions[..., :1] + torch.arange(x.shape[-2], device=x.device, dtype=positions.dtype)",
)
mistake(
    "positions-from-1",
    "The positions are counted from 1: use them as they are given, so that a token at position 0 stays as it is.",
    PLACES="({PLACES} + 1)",
)
mistake(
    "positions-in-whole-numbers",
    "The positions are turned into whole numbers: those in between are positions as well.",
    PLACES="positions.long().unsqueeze(-1).to(wide)",
)
mistake(
    "negative-positions-cut-off",
    "Negative positions count as 0: they turn the other way round.",
    PLACES="{PLACES}.clamp(min=0)",
)
mistake(
    "signs-of-positions-lost",
    "Negative positions count as positive ones: they turn the other way round.",
    PLACES="{PLACES}.abs()",
)
mistake(
    "looked-up-in-a-table",
    "The angles are looked up in a table of so and so many places, where large, negative and broken positions are not:"
    " compute them from the positions.",
    ANGLES="(torch.arange(64, device=x.device, dtype=wide)[:, None] * {FREQUENCIES})[positions]",
)
mistake(
    "table-as-long-as-the-text",
    "The angles are looked up in a table of as many places as there are tokens, so that tokens from the middle of a"
    " text are not in it: compute them from the positions.",
    ANGLES="(torch.arange(x.shape[-2], device=x.device, dtype=wide)[:, None] * {FREQUENCIES})[positions]",
)
mistake(
    "table-up-to-the-largest",
    "The angles are looked up in a table that is as long as the largest position: negative and broken positions are not"
    " in it. Compute them from the positions.",
    ANGLES="(torch.arange(100_000, device=x.device, dtype=wide)[:, None] * {FREQUENCIES})[positions]",
)
mistake(
    "items-for-heads",
    "Positions (b, t) meet the heads of x, (b, h, t, d), and not its items: give them a dimension for the heads,"
    " (b, 1, t).",
    FOR_ALL_HEADS="pass",
)
mistake(
    "positions-of-the-first-item",
    "The positions of the first item are used for the whole batch: each item has its own.",
    FOR_ALL_HEADS="if positions.dim() == 2:\n        positions = positions[0]",
)
mistake(
    "heads-at-the-end",
    "The positions of a batch get their dimension for the heads in the wrong place, as if x were (b, t, h, d): it is"
    " (b, h, t, d).",
    FOR_ALL_HEADS="if positions.dim() == 2 and x.dim() == 4:\n        positions = positions.unsqueeze(2)",
)
mistake(
    "tokens-before-heads",
    "The positions run over dimension 1, as if x were (b, t, h, d): the tokens are the last dimension but one.",
    FOR_ALL_HEADS="if x.dim() == 4:\n"
    "        positions = positions.unsqueeze(-1) if positions.dim() == 2 else positions[:, None]",
)
mistake(
    "positions-of-one-sequence-only",
    "The angles are made for positions (t,) alone, by `positions[:, None]` or `torch.outer`: they may also be (b, t),"
    " where x begins with b. `positions[..., None]` puts the new dimension last in both cases.",
    FOR_ALL_HEADS="pass",
    PLACES="positions[:, None].to(wide)",
)
BANK.variant(
    "positions-of-one-sequence-only",
    FOR_ALL_HEADS="pass",
    ANGLES="torch.outer(positions.to(wide), {FREQUENCIES})",
)
mistake(
    "only-heads",
    "The shape is unpacked into four sizes, so that nothing but (b, h, t, d) works: any number of dimensions may stand"
    " before the last two.",
    START="{START}\n    b, h, t, d = x.shape",
)
mistake(
    "only-sequences",
    "The shape is unpacked into two sizes, so that nothing but one sequence (t, d) works: any number of dimensions may"
    " stand before these two.",
    START="{START}\n    t, d = x.shape",
)
mistake(
    "view-of-the-input",
    says("view-of-the-input"),
    PARTS="x.view(-1, d).view(x.shape).to(wide).chunk(2, dim=-1)",
)
mistake(
    "squeezed",
    says("squeezed", SUCH="a batch of one"),
    RETURN="return turned.to(x.dtype).squeeze()",
)
mistake(
    "batch-dimension-added",
    "The output has a dimension more than the input, from a `[None]` that the angles do not need: sizes are matched"
    " from the end.",
    COS_SIN="cos, sin = angles.cos()[None, None], angles.sin()[None, None]",
)

# --- digits, dtypes, devices ----------------------------------------------------------------------

mistake(
    "angles-in-half-precision",
    "The angles are computed in the input's own dtype, and bfloat16 has no 257: position 257 is turned like 256. Make"
    " positions and angles in float32, and turn back the result.",
    WIDE="x.dtype",
)
mistake(
    "positions-in-half-precision",
    "The positions are turned into the input's dtype, and bfloat16 has no 257, nor float16 70,001: make them float32.",
    PLACES="positions.to(x.dtype).unsqueeze(-1).to(wide)",
)
mistake(
    "frequencies-in-half-precision",
    "The frequencies are rounded to the input's dtype, and at large positions the error grows to whole turns: keep them"
    " in float32 until sine and cosine are taken.",
    FREQUENCIES="({FREQUENCIES}).to(x.dtype).to(wide)",
)
mistake(
    "angles-rounded",
    "The angles are rounded to the input's dtype before sine and cosine are taken: round what comes out.",
    COS_SIN="angles = angles.to(x.dtype).to(wide)\n    {COS_SIN}",
)
mistake(
    "float32-comes-out",
    says("float32-comes-out"),
    RETURN="return turned",
)
mistake(
    "through-float32",
    says("through-float32"),
    PARTS="x.float().chunk(2, dim=-1)",
)
mistake(
    "float32-always",
    "It goes to float32 and stays there, whatever goes in: the output has the dtype of the input.",
    PARTS="x.float().chunk(2, dim=-1)",
    RETURN="return turned.float()",
)
mistake(
    "float64-comes-out",
    says("float64-comes-out"),
    RETURN="return turned.double()",
)
mistake(
    "frequencies-on-the-cpu",
    "The frequencies are made on the CPU, wherever the input lies: `torch.arange(..., device=x.device)`.",
    EXPONENTS="torch.arange(0, d, 2, dtype=wide) / d",
)
mistake(
    "asks-where-the-positions-end",
    "An `if` or a Python number asks what the positions hold, which a tensor on `meta` can't tell: compute with the"
    " tensor as it is.",
    START='{START}\n    if positions.numel() and positions.max() > 1e9:\n        raise RuntimeError("too far")',
)
mistake(
    "input-changed-in-place",
    "The halves of the input itself are written over, or the positions: whoever gave them still needs them. Make new"
    " tensors.",
    RETURN="x.data.copy_(turned)\n    {RETURN}",
)
mistake(
    "halves-written-over",
    "The halves of the input are written over, one after the other: the second is made of a first that has changed"
    " already, and whoever gave the input still needs it. Make a new tensor of the old halves.",
    PARTS="x.chunk(2, dim=-1)",
    TOGETHER="x\n    x[..., : d // 2] = {FIRST}\n    x[..., d // 2 :] = {SECOND}",
)
BANK.variant("input-changed-in-place", START="{START}\n    positions -= 1\n    positions = positions + 1")
mistake(
    "kept-from-the-first-call",
    "Angles of an earlier call are kept and used again for as many tokens, wherever they stand: compute them again.",
    COS_SIN="""kept = apply_rope.__dict__.setdefault("kept", {})
    angles = kept.setdefault((x.shape, base), angles)
    {COS_SIN}""",
    lasts=True,
)
mistake(
    "detached",
    says("detached", WHAT="The output", WHOM="the input"),
    PARTS="x.detach().to(wide).chunk(2, dim=-1)",
)
mistake(
    "half-of-it-detached",
    "One half is cut out of the graph: gradients go through both.",
    SECOND="({SECOND}).detach()",
)
mistake(
    "odd-width-not-refused",
    "An odd width is not refused, or by an error of torch's alone: raise a `ValueError`.",
    CHECK="",
)
mistake(
    "odd-width-asserted",
    says("odd-width-asserted", WHAT="An odd width"),
    CHECK="assert d % 2 == 0",
)
BANK.variant(
    "odd-width-not-refused",
    CHECK="if d % 2:\n        return torch.cat([apply_rope(x[..., :-1], positions, base), x[..., -1:]], dim=-1)",
)
mistake(
    "returns-nothing",
    says("returns-nothing", WHAT="the output"),
    price=ALL,
    RETURN="turned.to(x.dtype)",
)
mistake(
    "returns-both-halves",
    "It returns the two halves as a pair: place them side by side, in one tensor.",
    RETURN="return turned.to(x.dtype).chunk(2, dim=-1)",
)
