"""What goes wrong in `sliding_window_mask(t, window)`, as edits of the course's own answer."""

from ...mistakes.bank import Bank
from ...mistakes.prices import ALL
from ..families import forms
from ..families.wordings import says

REFUSAL = 'if window < 1:\n        raise ValueError(f"a window of {window} holds no token: it must be 1 at least")'

BANK = Bank(
    "sliding_window_mask",
    places={
        "REFUSED": "window < 1",
        "PLACES": "torch.arange(t)",
        "DISTANCE": "places[:, None] - places[None, :]",
        "PAST": "distance >= 0",
        "NEAR": "distance < window",
        "BAND": "(distance >= 0) & (distance < window)",
        "RETURN": "return ",
    },
)
mistake, variant = BANK.mistake, BANK.variant

# --- how far the window reaches -------------------------------------------------------------------

mistake(
    "one-too-many",
    "Each token sees `window` tokens before itself, one too many: it counts among the window, so the key may stand at"
    " most window − 1 places back.",
    NEAR="distance <= window",
)
mistake(
    "one-too-few",
    "The window is one too narrow: it holds the token itself and the window − 1 before it.",
    NEAR="distance < window - 1",
)
mistake(
    "window-ignored",
    "Each token sees all before it, however far back: the window has no effect.",
    price=ALL,
    BAND="{PAST}",
)
mistake(
    "band-of-two",
    "Each token sees itself and the one before it, whatever the window: use the parameter.",
    price=ALL,
    NEAR="distance < 2",
)
mistake(
    "blocks",
    "The text is cut into blocks of the window's length, and tokens see only their own block: the window goes along"
    " with each token.",
    BAND="({PAST}) & (places[:, None] // window == places[None, :] // window)",
)
mistake(
    "half-on-each-side",
    "The window lies around each token, half of it in the future: here all of it ends at the token itself.",
    BAND="distance.abs() <= window // 2",
)
mistake(
    "round-the-end",
    "At the start of the text the window goes on at its end, so the first tokens see the last ones: distances must not"
    " wrap round.",
    BAND="distance % t < window",
)
mistake(
    "first-rows-empty",
    "The first tokens see nothing, because a slice begins at a negative place: begin it at `max(0, i - window + 1)`.",
    BAND="({PAST}) & ({NEAR}) & (places[:, None] >= window - 1)",
)
mistake(
    "every-other-place",
    "The window has gaps: each token sees `window` tokens, but not the ones next to it. They follow without a gap.",
    BAND="({PAST}) & (distance < 2 * window) & (distance % 2 == 0)",
)
mistake(
    "first-tokens-kept",
    "The first token is seen by all, as a sink would be: that is another technique, here the window is all there is.",
    BAND="({PAST}) & ({NEAR} | (places[None, :] == 0))",
)

# --- which way ------------------------------------------------------------------------------------

mistake(
    "both-directions",
    "The window reaches forward as well as back, so tokens see later ones: only the past may be seen.",
    PAST="distance > -window",
)
mistake(
    "one-step-ahead",
    "Each token also sees the next one, the very one that it should guess: the window begins at distance 0.",
    PAST="distance >= -1",
)
mistake(
    "forward",
    "The window reaches forward, from each token to those after it: rows are queries, so the distance is row minus"
    " column.",
    DISTANCE="places[None, :] - places[:, None]",
)
mistake(
    "future-seen",
    "All later tokens are seen, since the distance to them is below 0 and so below the window: ask for 0 or more as"
    " well.",
    BAND="{NEAR}",
)
mistake(
    "itself-hidden",
    "No token sees itself: the window begins at distance 0.",
    PAST="distance > 0",
)
mistake(
    "itself-not-counted",
    "Each token sees as many tokens before itself as the window holds, but not itself: a window begins at distance 0.",
    BAND="(distance > 0) & (distance <= window)",
)

# --- what is returned -----------------------------------------------------------------------------

mistake(
    "inverted",
    says("inverted", WHAT="a token must not be seen", MEANS="may attend"),
    BAND="~({BAND})",
)
mistake(
    "nothing-seen",
    "No token sees any other, and not itself. Where a `triu` meets a `tril`, look at the sign of the diagonal: they may"
    " have nothing in common.",
    BAND="({PAST}) & (distance <= -window)",
)
mistake(
    "far-hidden-only",
    "True stands for what is too far back, not for what may be seen: True means may attend.",
    BAND="({PAST}) & (distance >= window)",
)
mistake(
    "numbers-not-boolean",
    says("numbers-not-boolean"),
    BAND="({BAND}).float()",
)
variant("numbers-not-boolean", BAND="({BAND}).long()")
mistake(
    "minus-infinity-inside",
    "The mask holds 0 and a number far below it, such as -inf, to be added to scores: here it says who may attend,"
    " True or False.",
    BAND="torch.zeros(t, t).masked_fill(~({BAND}), float('-inf'))",
)
mistake(
    "leading-dimensions",
    "The mask has dimensions too many, as if for a batch and heads: its shape should be (t, t), which broadcasts.",
    BAND="({BAND})[None, None]",
)
variant("leading-dimensions", BAND="({BAND})[None]")
mistake(
    "one-place-too-many",
    "The mask has one row and one column too many: for t tokens it is (t, t).",
    PLACES="torch.arange(t + 1)",
)
mistake(
    "window-wide",
    "The mask is as wide as the window, and not as the text: its shape should be (t, t).",
    BAND="({BAND})[:, -window:]",
)
mistake(
    "list-of-lists",
    says("list-of-lists", WHAT="mask"),
    BAND="({BAND}).tolist()",
)
mistake(
    "returns-nothing",
    says("returns-nothing", WHAT="the mask"),
    price=ALL,
    RETURN="",
)

# --- which windows are refused --------------------------------------------------------------------

mistake(
    "window-not-checked",
    "A window of 0 tokens, or of fewer, is taken: nobody could see anything, so raise a `ValueError`.",
    {f"    {REFUSAL}\n": ""},
)
mistake(
    "zero-not-refused",
    "A window of 0 is taken, in which a token would not even see itself: refuse all below 1.",
    REFUSED="window < 0",
)
mistake(
    "one-refused",
    "A window of 1 is refused, in which each token sees itself alone: refuse those below 1.",
    REFUSED="window <= 1",
)
mistake(
    "asserted",
    says("asserted", WHAT="A window below 1"),
    {REFUSAL: "assert window >= 1"},
)
mistake(
    "large-window-refused",
    "A window longer than the text is refused: then each token sees all before it.",
    REFUSED="window < 1 or window > t",
)
mistake(
    "whole-window-refused",
    "A window as long as the text is refused: then each token sees all before it.",
    REFUSED="window < 1 or window == t",
)
forms.add_to_mask(BANK)
