"""The record of what grading found, and everything that is made from it: gradebook, feedback, report."""
