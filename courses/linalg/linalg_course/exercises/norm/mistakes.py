"""What goes wrong in `norm`: edits of the right answer, and what to say of each."""

from autograder.mistakes import Bank

BANK = Bank("norm", places={"LARGEST": "np.abs(x).max()", "BACK": "largest * "})

BANK.released(
    "original",
    "This is the function as it was given: the squares overflow before the root is taken. Divide by the largest entry"
    " first.",
    "norm",
)
BANK.mistake("sign-of-the-largest", "The largest entry may be negative: take absolute values first.", LARGEST="x.max()")
BANK.mistake("not-scaled-back", "You divided by the largest entry: multiply the root by it again.", BACK="")
BANK.mistake("zeros-not-seen", "For zeros this divides 0 by 0, which is NaN.", {"if largest == 0": "if False"})
