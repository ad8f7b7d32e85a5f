"""What a `mistakes.py` needs: `from autograder.mistakes import Bank`; docs/checks.md shows each name."""

from .bank import Bank, BankError, shared
from .prices import ALL

__all__ = ["ALL", "Bank", "BankError", "shared"]
