"""Wrong answers for `constant_vector_length(c, k)`, the length of a vector of k entries c: |c|√k."""

from ...mistakes.bank import misconception


# fmt: off
@misconception(
    "original-000",
    "This is notebook 000's claim, k√c: c belongs before the root, without its sign, and k under it.",
    original="000",
)
def constant_vector_length(c, k):
    """The length of a vector of k entries that are all c."""
    return k * c ** 0.5
# fmt: on


@misconception(
    "claim-with-absolute-value",
    "This is notebook 000's claim with the sign taken off, k√|c|: it is the number of entries that belongs under the"
    " root, and c before it.",
    original="000",
)
def claim_with_absolute_value(c, k):
    return k * abs(c) ** 0.5


@misconception(
    "sign-kept",
    "This is c√k, right for numbers above 0 but negative for negative ones, which no length is: take c without its"
    " sign.",
    original="002",
)
def sign_kept(c, k):
    return c * k**0.5


@misconception(
    "entries-added-up", "This adds up the entries, |c|·k: the length is the root of the sum of their squares."
)
def entries_added_up(c, k):
    return abs(c) * k


@misconception("root-forgotten", "This is the square of the length, c²·k: take its root.")
def root_forgotten(c, k):
    return c * c * k


@misconception("root-of-both", "This is the root of |c|·k: under the root stands c², not c.")
def root_of_both(c, k):
    return (abs(c) * k) ** 0.5


@misconception("one-entry", "This is the length of a single entry, |c|: k of them make the vector longer.")
def one_entry(c, k):
    return abs(c)


@misconception(
    "negative-refused",
    "A negative c is refused, but a vector may well have negative entries, and it has a length.",
)
def negative_refused(c, k):
    if c < 0:
        raise ValueError("c must not be negative")
    return c * k**0.5
