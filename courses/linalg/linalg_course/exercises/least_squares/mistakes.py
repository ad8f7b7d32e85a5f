"""What goes wrong in `least_squares`: edits of the right answer, and what to say of each."""

from autograder.mistakes import Bank

BANK = Bank("least_squares", places={"AWAY": "v[0] += np"})

BANK.mistake(
    "toward-zero",
    "The first entry of v should grow: with the other sign two nearly equal numbers are subtracted, and digits are"
    " lost.",
    AWAY="v[0] -= np",
)
BANK.mistake(
    "once-is-a-projection",
    "Subtracted once, the part along v is gone: a projection. Subtract it twice, and the vector is reflected.",
    {"r[k:, k:] -= 2 *": "r[k:, k:] -=", "c[k:] -= 2 *": "c[k:] -="},
)
BANK.rewritten(
    "normal-equations",
    "The normal equations square the condition number: half of the digits are gone before you solve them.",
    """
def least_squares(a, b):
    return np.linalg.solve(a.T @ a, a.T @ b)
""",
)
BANK.rewritten(
    "ready-made",
    "NumPy does all of it here: write the reflections yourself.",
    """
def least_squares(a, b):
    return np.linalg.lstsq(a, b, rcond=None)[0]
""",
)
