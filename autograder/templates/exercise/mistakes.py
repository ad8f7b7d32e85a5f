"""What goes wrong in `NAME`: edits of the right answer, and what to say of each."""

from autograder.mistakes import Bank

BANK = Bank("NAME", places={"FACTOR": "2 * "})  # TODO: the pieces of the solution that go wrong

# TODO: a line or two for each mistake: its id, what the student reads, and what replaces its place
# BANK.mistake("not-doubled", "These are the numbers as they came in: double them.", FACTOR="")
