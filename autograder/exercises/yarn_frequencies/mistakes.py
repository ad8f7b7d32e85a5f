"""What goes wrong in `yarn_frequencies(head_dim, base, factor, original_length, slow=1, fast=32)`."""

from ...mistakes.bank import Bank
from ...mistakes.prices import ALL
from ..families import forms
from ..families.wordings import says

BANK = Bank(
    "yarn_frequencies",
    places={
        "REFUSAL": """if head_dim % 2:
        raise ValueError(f"pairs are turned, so head_dim must be even, and it is {head_dim}")
    """,
        "PAIRS": "torch.arange(0, head_dim, 2, dtype=torch.float64)",
        "EXPONENT": "-torch.arange(0, head_dim, 2, dtype=torch.float64) / head_dim",
        "POWER": "base ** (-torch.arange(0, head_dim, 2, dtype=torch.float64) / head_dim)",
        "TURNS": "original_length * frequencies / (2 * math.pi)",
        "ROUND": "(2 * math.pi)",
        "SHARE": "(turns - slow) / (fast - slow)",
        "KEPT": "((turns - slow) / (fast - slow)).clamp(0, 1)",
        "DIVIDED": "frequencies / factor",
        "BLEND": "kept * frequencies + (1 - kept) * frequencies / factor",
        "RETURN": "return (kept * frequencies + (1 - kept) * frequencies / factor).float()",
    },
)
mistake, variant = BANK.mistake, BANK.variant

# --- the frequencies --------------------------------------------------------------------------------

mistake(
    "exponent-i",
    says("exponent-i", WIDTH="head_dim"),
    EXPONENT="-torch.arange(head_dim // 2, dtype=torch.float64) / head_dim",
)
mistake(
    "pairs-counted-from-1",
    says("pairs-counted-from-1"),
    EXPONENT="-(torch.arange(0, head_dim, 2, dtype=torch.float64) + 2) / head_dim",
)
forms.add_powers(BANK, "POWER", "{PAIRS}", "head_dim")
mistake(
    "frequencies-grow",
    says("frequencies-grow", WIDTH="head_dim"),
    {"base ** (-torch": "base ** (torch"},
)
mistake(
    "slowest-first",
    "The slowest pair comes first: pair 0 is the fastest.",
    RETURN="return ({BLEND}).flip(0).float()",
)
mistake(
    "each-frequency-twice",
    "Each frequency comes twice: there are head_dim/2 pairs, and one frequency for each.",
    RETURN="return ({BLEND}).float().repeat(2)",
)
variant("each-frequency-twice", RETURN="return ({BLEND}).float().repeat_interleave(2)")
mistake(
    "wavelengths-returned",
    "Places for a whole turn come back: return by how much each pair turns per place.",
    RETURN="return (2 * math.pi / ({BLEND})).float()",
)
variant("wavelengths-returned", RETURN="return (1 / ({BLEND})).float()")

# --- how often they turn ----------------------------------------------------------------------------

mistake(
    "angles-for-turns",
    "The angle that a pair comes to in the training is taken for its turns: a turn is 2π, so divide by it.",
    TURNS="original_length * frequencies",
)
mistake(
    "half-turns-counted",
    "Half turns are counted: a whole one is 2π.",
    ROUND="math.pi",
)
mistake(
    "wavelength-for-turns",
    "The places for a whole turn are compared with `slow` and `fast`: these are numbers of turns in"
    " `original_length` places.",
    TURNS="2 * math.pi / frequencies",
)
mistake(
    "turns-upside-down",
    "The turns are upside down: they are original_length / (2π/θ), more for fast pairs.",
    TURNS="2 * math.pi / (original_length * frequencies)",
)
mistake(
    "turns-in-the-longer-text",
    "Turns are counted in the longer text: what was learnt are those of the training, in `original_length` places.",
    TURNS="factor * original_length * frequencies / (2 * math.pi)",
)
mistake(
    "turns-of-the-divided",
    "The turns are those of the divided frequencies: count them with the frequencies of the training.",
    TURNS="original_length * frequencies / factor / (2 * math.pi)",
)
mistake(
    "whole-turns-only",
    "Turns are rounded to whole ones, so the ramp has steps.",
    TURNS="(original_length * frequencies / (2 * math.pi)).floor()",
)

# --- the bands --------------------------------------------------------------------------------------

mistake(
    "nothing-divided",
    "All pairs turn as before: the slow ones have to turn `factor` times slower.",
    price=ALL,
    BLEND="frequencies + 0 * kept",
)
mistake(
    "all-divided",
    "All pairs are divided: that is position interpolation, which takes from the fast pairs what tells neighbours"
    " apart. Leave those with `fast` turns or more as they are.",
    price=ALL,
    BLEND="frequencies / factor + 0 * kept",
)
mistake(
    "larger-base",
    "The base is made larger, so that all pairs but the first slow down by different factors: here each pair is"
    " divided by what its turns say.",
    price=ALL,
    BLEND="(base * factor ** (head_dim / max(1, head_dim - 2))) ** ({EXPONENT}) + 0 * kept",
)
variant("larger-base", BLEND="(base * factor) ** ({EXPONENT}) + 0 * kept")
mistake(
    "bands-exchanged",
    "The bands are exchanged: it is fast pairs that should stay as they are, and slow ones that are divided.",
    BLEND="(1 - kept) * frequencies + kept * frequencies / factor",
)
mistake(
    "factor-multiplies",
    "Slow pairs turn `factor` times faster: divide.",
    DIVIDED="frequencies * factor",
)
mistake(
    "root-of-the-factor",
    "Slow pairs are divided by the root of the factor: divide by the factor.",
    DIVIDED="frequencies / factor ** 0.5",
)
mistake(
    "not-cut-at-the-ends",
    "The share that is kept goes below 0 and above 1 outside of the ramp: cut it at both ends.",
    KEPT="{SHARE}",
)
mistake(
    "not-cut-above",
    "The share that is kept goes above 1 for fast pairs: cut it at both ends.",
    KEPT="({SHARE}).clamp(min=0)",
)
mistake(
    "not-cut-below",
    "The share that is kept goes below 0 for slow pairs: cut it at both ends.",
    KEPT="({SHARE}).clamp(max=1)",
)
mistake(
    "no-ramp-at-slow",
    "There is no ramp: all pairs of more than `slow` turns are left as they are. Between `slow` and `fast` the kept"
    " share grows from 0 to 1.",
    KEPT="(turns > slow).double()",
)
mistake(
    "no-ramp-at-fast",
    "There is no ramp: all pairs of fewer than `fast` turns are divided. Between `slow` and `fast` the kept share grows"
    " from 0 to 1.",
    KEPT="(turns >= fast).double()",
)
mistake(
    "halfway-between",
    "All pairs between get the mean of both: the kept share grows from 0 at `slow` to 1 at `fast`.",
    KEPT="0.5 * (turns > slow).double() + 0.5 * (turns >= fast).double()",
)
mistake(
    "ramp-from-0",
    "The ramp begins at 0 turns, so at `slow` it jumps: the kept share is 0 at `slow`, so take `slow` off first.",
    KEPT="(turns / fast).clamp(max=1) * (turns > slow)",
)
variant("ramp-from-0", KEPT="(turns / fast).clamp(0, 1)")
mistake(
    "ramp-divided-by-fast",
    "The ramp ends below 1, so at `fast` it jumps: divide by fast − slow.",
    KEPT="torch.where(turns >= fast, 1.0, ((turns - slow) / fast).clamp(min=0))",
)
variant("ramp-divided-by-fast", KEPT="((turns - slow) / fast).clamp(0, 1)")
mistake(
    "ramp-turned-round",
    "The ramp runs the wrong way: the more turns, the more is kept.",
    KEPT="torch.where((turns > slow) & (turns < fast), 1 - {SHARE}, (turns >= fast).double())",
)
mistake(
    "ramp-over-pairs",
    "The ramp is linear in the index of the pairs, as in the released code: the paper's is linear in the turns.",
    KEPT="((turns / slow).log() / math.log(fast / slow)).clamp(0, 1)",
)
variant(
    "ramp-over-pairs",
    KEPT="""(
        lambda low, high: (1 - (torch.arange(head_dim // 2) - low) / max(high - low, 0.001)).clamp(0, 1).double()
    )(
        *(
            cut(rounded(head_dim * math.log(original_length / (2 * math.pi * end)) / (2 * math.log(base))))
            for cut, rounded, end in (
                (lambda pair: max(pair, 0), math.floor, fast),
                (lambda pair: min(pair, head_dim - 1), math.ceil, slow),
            )
        )
    )""",
)
mistake(
    "curved-ramp",
    "The ramp is curved: the kept share grows linearly in the turns.",
    KEPT="(0.5 - 0.5 * (math.pi * ({SHARE}).clamp(0, 1)).cos())",
)
variant("curved-ramp", KEPT="(({SHARE}).clamp(0, 1) ** 2)")
variant("curved-ramp", KEPT="(({SHARE}).clamp(0, 1) ** 0.5)")
mistake(
    "wavelengths-blended",
    "The ramp mixes the two wavelengths: mix the two frequencies.",
    BLEND="1 / (kept / frequencies + (1 - kept) * factor / frequencies)",
)
mistake(
    "factors-blended-by-powers",
    "The ramp mixes the two frequencies by a power of the factor: take the sum of the two, by their shares.",
    BLEND="frequencies * factor ** (kept - 1)",
)
mistake(
    "edges-typed-in",
    "The ends of the ramp are always 1 and 32: take `slow` and `fast`.",
    KEPT="((turns - 1) / (32 - 1)).clamp(0, 1)",
)
mistake(
    "edges-of-llama",
    "The ramp ends at 4 turns, as in Llama 3.1: it ends at `fast`, by default 32.",
    KEPT="((turns - slow) / (4 - slow)).clamp(0, 1)",
)
mistake(
    "temperature-on-the-frequencies",
    "The frequencies are multiplied by YaRN's temperature, 0.1 ln(factor) + 1: it belongs to queries and keys, and is"
    " not asked for.",
    BLEND="({KEPT} * frequencies + (1 - kept) * frequencies / factor) * (0.1 * math.log(factor) + 1)",
)

# --- what is returned, and the rest -----------------------------------------------------------------

mistake(
    "temperature-returned-too",
    "A pair is returned, with the temperature: return the frequencies alone.",
    RETURN="return ({BLEND}).float(), 0.1 * math.log(factor) + 1",
)
mistake(
    "list-returned",
    says("list-returned", SHAPE="(head_dim/2,)"),
    RETURN="return ({BLEND}).tolist()",
)
mistake(
    "half-precision",
    says("half-precision"),
    RETURN="return ({BLEND}).bfloat16()",
)
variant("half-precision", RETURN="return ({BLEND}).bfloat16().float()")
mistake(
    "odd-width-accepted",
    "An odd `head_dim` is not refused: raise a `ValueError`.",
    REFUSAL="",
)
mistake(
    "odd-width-asserted",
    says("odd-width-asserted", WHAT="An odd `head_dim`"),
    REFUSAL="assert head_dim % 2 == 0, head_dim\n    ",
)
