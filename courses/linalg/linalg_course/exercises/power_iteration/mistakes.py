"""What goes wrong in `power_iteration`: edits of the right answer, and what to say of each."""

from autograder.mistakes import Bank

BANK = Bank(
    "power_iteration",
    places={"STEPS": "range(steps)", "DIVIDED": "        x = x / np.linalg.norm(x)\n", "VALUE": "x @ a @ x"},
)

BANK.mistake(
    "largest-entry",
    "Divide by the length of the vector, not by its largest entry.",
    DIVIDED="        x = x / np.abs(x).max()\n",
)
BANK.mistake(
    "length-for-value",
    "The length of a @ x is the size of the value, without its sign: take x @ a @ x.",
    VALUE="np.linalg.norm(a @ x)",
)
BANK.mistake(
    "divided-at-the-end",
    "Divide in each step: if only the last vector is divided, the numbers overflow on the way.",
    DIVIDED="    x = x / np.linalg.norm(x)\n",
)
BANK.mistake("one-step-short", "One step is missing: count how often a is applied.", STEPS="range(1, steps)")
