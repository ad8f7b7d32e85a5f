"""The seeds from which the inputs of checks are drawn."""

import secrets


def new_seed() -> int:
    """A new seed for the inputs of a run, which nobody could have known beforehand."""
    return secrets.randbits(48)
