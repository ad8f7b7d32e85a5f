"""What goes wrong in `rescale`: edits of the right answer, and what to say of each."""

from autograder.mistakes import Bank

BANK = Bank("rescale", places={"ABOVE": "x - x.min()", "SPREAD": "x.max() - x.min()"})

BANK.released("original", "This is the function as it was given: the smallest number does not become 0.", "rescale")
BANK.mistake("divided-by-the-maximum", "Divide by how far the numbers lie apart, not by the largest.", SPREAD="x.max()")
BANK.mistake("same-not-seen", "All the same gives NaN: 0 is divided by 0.", {"if spread == 0": "if False"})
