"""What goes wrong in `normalise`."""

from autograder.mistakes import Bank

BANK = Bank("normalise", places={"SPREAD": "deviations.square().mean().sqrt()", "REFUSES": "if x.dim() != 1:"})

BANK.released("original", "This is the function as it was given: it divides by the variance, without its root.", "1")
BANK.mistake("no-root", "It divides by the variance: take its square root.", SPREAD="deviations.square().mean()")
BANK.mistake("mean-not-removed", "The mean is still in the numbers: subtract it.", {"deviations /": "x /"})
BANK.mistake("rank-not-checked", "A matrix is not refused: raise a `ValueError`.", REFUSES="if False:")
