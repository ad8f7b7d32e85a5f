"""What a `mistakes.py` needs: `from autograder.mistakes import Bank, shared`; see bank.py for an example."""

from .bank import Bank, BankError, Mistake, Shared, shared

__all__ = ["Bank", "BankError", "Mistake", "Shared", "shared"]
