"""Exercises in which a student writes the test, and right and wrong answers to another exercise are its candidates."""
