"""What goes wrong in `constant_vector_length(c, k)`, the length of a vector of k entries c: |c|√k."""

from ...mistakes.bank import Bank

BANK = Bank("constant_vector_length", places={"LENGTH": "abs(c) * k ** 0.5"})
mistake = BANK.mistake

BANK.released(
    "original-000",
    "This is notebook 000's claim, k√c: c belongs before the root, without its sign, and k under it.",
    "000",
)
mistake(
    "claim-with-absolute-value",
    "This is notebook 000's claim with the sign taken off, k√|c|: it is the number of entries that belongs under the"
    " root, and c before it.",
    LENGTH="k * abs(c) ** 0.5",
    original="000",
)
mistake(
    "sign-kept",
    "This is c√k, right for numbers above 0 but negative for negative ones, which no length is: take c without its"
    " sign.",
    LENGTH="c * k ** 0.5",
    original="002",
)
mistake(
    "entries-added-up",
    "This adds up the entries, |c|·k: the length is the root of the sum of their squares.",
    LENGTH="abs(c) * k",
)
mistake("root-forgotten", "This is the square of the length, c²·k: take its root.", LENGTH="c * c * k")
mistake("root-of-both", "This is the root of |c|·k: under the root stands c², not c.", LENGTH="(abs(c) * k) ** 0.5")
mistake("one-entry", "This is the length of a single entry, |c|: k of them make the vector longer.", LENGTH="abs(c)")
mistake(
    "negative-refused",
    "A negative c is refused, but a vector may well have negative entries, and it has a length.",
    {"return ": 'if c < 0:\n        raise ValueError("c must not be negative")\n    return '},
)
