"""The sandbox in which student code runs. No other part of the kit starts processes for student code."""
