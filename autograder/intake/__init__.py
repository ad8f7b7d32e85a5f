"""Reads untrusted input: archives, messages and tables, and finds the owner of each file."""
