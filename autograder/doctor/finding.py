"""A single finding of `autograder doctor`."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """One finding. `well` is None if it is neither right nor wrong, but only worth knowing."""

    well: bool | None
    says: str

    def __str__(self) -> str:
        return f"{'·' if self.well is None else '✓' if self.well else '✗'} {self.says}"
