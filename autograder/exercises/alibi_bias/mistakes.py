"""What goes wrong in `alibi_bias(num_heads, t)`, as edits of the course's own answer."""

from ...mistakes.bank import Bank
from ...mistakes.prices import ALL
from ..families.wordings import says

BANK = Bank(
    "alibi_bias",
    places={
        "RATIO": "2 ** (-8 * (i + 1) / n)",
        "POWER": "2 ** (num_heads.bit_length() - 1)",
        "BETWEEN": "slopes(2 * power)[0::2][: num_heads - power]",
        "EACH": "slopes(power) + slopes(2 * power)[0::2][: num_heads - power]",
        "PLACES": "torch.arange(t)",
        "DISTANCE": "places[:, None] - places[None, :]",
        "RETURN": "return -",
        "SLOPES": "torch.tensor(each)[:, None, None]",
        "BIAS": "-torch.tensor(each)[:, None, None] * distance",
    },
)
mistake, variant = BANK.mistake, BANK.variant

# --- the slopes of a power of two -----------------------------------------------------------------

mistake(
    "first-slope-one",
    "The first slope is 1 and the exponents start at 0: the first is 2^(−8/n) already.",
    RATIO="2 ** (-8 * i / n)",
)
variant("first-slope-one", EACH="[2 ** (-8 * i / power) for i in range(power)] + {BETWEEN}")
mistake(
    "ratio-always-a-half",
    "Each slope is half of the one before, whatever the number of heads: that is so for 8 heads alone, the ratio is"
    " 2^(−8/n).",
    RATIO="2 ** -(i + 1)",
)
mistake(
    "exponent-upside-down",
    "The exponent is −n/8 in place of −8/n: the more heads, the nearer their slopes.",
    RATIO="2 ** (-n * (i + 1) / 8)",
)
mistake(
    "exponent-without-eight",
    "The exponent is −1/n in place of −8/n, so all slopes lie between 1 and 1/2: the last of them is 2^(−8), whatever"
    " the number of heads.",
    RATIO="2 ** (-(i + 1) / n)",
)
mistake(
    "base-of-rotary-positions",
    "The slopes are the frequencies of rotary positions, with a base of 10,000: here they begin at 2^(−8/n) and go down"
    " by that ratio.",
    RATIO="10000 ** (-2 * i / n)",
)
mistake(
    "evenly-spaced",
    "The slopes are evenly spaced: they are a geometric series, each is 2^(−8/n) times the one before.",
    RATIO="1 - i / n",
)
mistake(
    "slopes-reversed",
    "The slopes are in the reverse order: head 0 has the steepest one.",
    EACH="({EACH})[::-1]",
)
mistake(
    "same-slope",
    "All heads have the same slope: each has its own, so that some look far and some look near.",
    SLOPES="torch.tensor(each[:1] * num_heads)[:, None, None]",
)

# --- numbers of heads that are no power of two ----------------------------------------------------

mistake(
    "sorted",
    "The slopes are sorted. For a number of heads that is no power of two, those of the lower power come first, and"
    " those taken from the next power after these, unsorted.",
    EACH="sorted({EACH}, reverse=True)",
)
mistake(
    "interpolated",
    "For a number of heads that is no power of two the ratio is made from that number: take the slopes of the lower"
    " power, then every second one of twice that power.",
    EACH="slopes(num_heads)",
)
mistake(
    "next-power",
    "The slopes are the first ones of the next higher power of two: take all those of the lower power, then every"
    " second one of the higher.",
    EACH="slopes(power if power == num_heads else 2 * power)[:num_heads]",
)
mistake(
    "from-the-second",
    "Of twice the lower power the 2nd, 4th, … slope are taken, which are those of the lower power once more: take the"
    " 1st, 3rd, ….",
    BETWEEN="slopes(2 * power)[1::2][: num_heads - power]",
)
mistake(
    "not-every-second",
    "Of twice the lower power the first slopes are taken, one after another: take every second one, the 1st, 3rd, ….",
    BETWEEN="slopes(2 * power)[: num_heads - power]",
)
mistake(
    "last-of-them",
    "Of every second slope of twice the lower power the last ones are taken: take the first.",
    BETWEEN="(slopes(2 * power)[0::2][power - num_heads :] if num_heads > power else [])",
)
mistake(
    "between-first",
    "The slopes of the higher power come before those of the lower: it is the other way round.",
    EACH="{BETWEEN} + slopes(power)",
)
mistake(
    "nearest-power",
    "The power of two nearest to the number of heads is taken, which may be above it: take the largest that is not.",
    POWER="2 ** round(math.log2(num_heads))",
)
mistake(
    "powers-of-two-only",
    "A number of heads that is no power of two is refused: it gets the slopes of the lower power, and more from twice"
    " that.",
    POWER="{POWER}\n    if power != num_heads:\n        raise ValueError('not a power of two')",
)

# --- the distance ---------------------------------------------------------------------------------

mistake(
    "sign",
    "The bias grows with the distance, so far keys are preferred: it is −m·(i − j).",
    RETURN="return ",
)
mistake(
    "squared",
    "The distance is squared: the bias falls by the same amount with each place.",
    DISTANCE="({DISTANCE}) ** 2",
)
mistake(
    "logarithm",
    "The bias falls with the logarithm of the distance: it falls by the same amount with each place.",
    DISTANCE="torch.log1p(({DISTANCE}).abs())",
)
mistake(
    "starts-at-one",
    "The distance of a token from itself is counted as 1: it is 0, and so is its bias.",
    DISTANCE="{DISTANCE} + 1",
)
mistake(
    "by-length",
    "The distance is divided by the length of the text, so the same distance counts less in a longer one: it is a"
    " number of places.",
    DISTANCE="({DISTANCE}) / t",
)
mistake(
    "key-positions",
    "The bias goes by the key's place alone, and grows from the first key on: the same as far as the softmax is"
    " concerned, but asked for is −m·(i − j).",
    BIAS="{SLOPES} * places.expand(t, t)",
)
mistake(
    "query-positions",
    "The bias goes by the query's place alone, so it is the same for all keys of a query, and no softmax sees it.",
    DISTANCE="places[:, None].expand(t, t)",
)
mistake(
    "far-places-cut",
    "From some distance on the bias falls no further: it goes on for as long as the text does.",
    DISTANCE="({DISTANCE}).clamp(max=4)",
)

# --- the shape and the dtype ----------------------------------------------------------------------

mistake(
    "heads-last",
    "The heads are the last dimension: the shape is (num_heads, t, t).",
    BIAS="(-torch.tensor(each) * (distance)[..., None])",
)
mistake(
    "leading-dimension",
    says("leading-dimension", SHAPE="(num_heads, t, t)"),
    SLOPES="torch.tensor(each)[None, :, None, None]",
)
mistake(
    "one-row",
    "There is one row only, as for the last query: the shape is (num_heads, t, t).",
    DISTANCE="(places[:, None] - places[None, :])[-1:]",
)
mistake(
    "slopes-only",
    "The slopes are returned, (num_heads,): the bias is −slope times the distance, (num_heads, t, t).",
    BIAS="torch.tensor(each)",
)
mistake(
    "power-multiplied",
    "For a number of heads that is no power of two there are too many slopes: cut them to `num_heads`.",
    BETWEEN="(slopes(2 * power)[0::2] if num_heads > power else [])",
)
mistake(
    "whole-numbers",
    "The bias holds whole numbers, which have no room for slopes below 1: keep it floating.",
    BIAS="({BIAS}).long()",
)
mistake(
    "half-precision",
    says("half-precision"),
    BIAS="({BIAS}).bfloat16()",
)
variant("half-precision", BIAS="({BIAS}).half()")
mistake(
    "returns-nothing",
    says("returns-nothing", WHAT="the bias"),
    price=ALL,
    RETURN="-",
)
mistake(
    "list-of-lists",
    says("list-of-lists", WHAT="bias"),
    BIAS="({BIAS}).tolist()",
)
mistake(
    "always-eight-heads",
    says("always-eight-heads", NUMBER_OF_HEADS="num_heads"),
    EACH="slopes(8)",
)
