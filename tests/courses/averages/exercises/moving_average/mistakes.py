"""What goes wrong in `moving_average`."""

from autograder.mistakes import Bank

BANK = Bank("moving_average", places={"MEAN": "x.unfold(0, window, 1).mean(dim=1)"})

BANK.mistake("sums", "These are the sums of the windows: divide by how many numbers they hold.", MEAN="{MEAN} * window")
BANK.mistake("every-window-apart", "The windows do not overlap.", {"window, 1)": "window, window)"})
BANK.mistake(
    "too-wide-not-refused", "A window that is too wide is not refused.", {"if window > x.shape[0]:": "if False:"}
)
