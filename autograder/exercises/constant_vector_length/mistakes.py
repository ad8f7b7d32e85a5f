"""What goes wrong in `constant_vector_length(c, k)`, the length of a vector of k entries c: |c|√k."""

from ...mistakes.bank import Bank
from ...mistakes.prices import ALL

BANK = Bank("constant_vector_length", places={"LENGTH": "abs(c) * k ** 0.5"})
mistake = BANK.mistake

BANK.released(
    "original-000",
    "This is the claim as it was given, k√c: c belongs before the root, without its sign, and k under it.",
    "000",
)
mistake(
    "claim-with-absolute-value",
    "This is the claim as it was given, with the sign taken off, k√|c|: it is the number of entries that belongs under"
    " the root, and c before it.",
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
    price=ALL,
    LENGTH="abs(c) * k",
)
mistake("root-forgotten", "This is the square of the length, c²·k: take its root.", LENGTH="c * c * k")
mistake("root-of-both", "This is the root of |c|·k: under the root stands c², not c.", LENGTH="(abs(c) * k) ** 0.5")
mistake(
    "one-entry",
    "This is the length of a single entry, |c|: k of them make the vector longer.",
    price=ALL,
    LENGTH="abs(c)",
)
mistake(
    "negative-refused",
    "A negative c stops with an error, but a vector may well have negative entries, and it has a length.",
    {"return ": 'if c < 0:\n        raise ValueError("c must not be negative")\n    return '},
)

# --- roots that stop at negative numbers, and others ----------------------------------------------

mistake(
    "claim-by-math-sqrt",
    "This is the claim as it was given, k√c, which stops at a negative c: c belongs before the root, without its sign,"
    " and k under it.",
    LENGTH="k * math.sqrt(c)",
    original="000",
)
mistake(
    "root-of-both-with-sign",
    "This is the root of c·k, a complex number when c is negative: under the root stands c², not c.",
    LENGTH="(c * k) ** 0.5",
)
mistake(
    "root-of-both-by-math-sqrt",
    "This is the root of c·k, which stops when c is negative: under the root stands c², not c.",
    LENGTH="math.sqrt(c * k)",
)
mistake(
    "zero-below-zero",
    "A negative c gives the length 0, but its size counts: take c without its sign.",
    LENGTH="max(0.0, c * k ** 0.5)",
)
mistake("cut-to-a-whole-number", "The length is cut to a whole number: return it as it is.", LENGTH="int({LENGTH})")
mistake("rounded", "The length is rounded: return it with all its digits.", LENGTH="round({LENGTH}, 2)")
mistake(
    "printed",
    "Nothing is returned, so what comes back is None: end with `return`, printing the length is not enough.",
    {"return ": "length = "},
    price=ALL,
)
