"""Hand-ins from Moodle, Canvas, Gradescope and mail; the roster; grades and feedback back to these systems."""
