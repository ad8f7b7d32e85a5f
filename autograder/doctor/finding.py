"""What a look at something has found."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """`well` is None for what is neither well nor to be mended, and only worth knowing."""

    well: bool | None
    says: str

    def __str__(self) -> str:
        return f"{'·' if self.well is None else '✓' if self.well else '✗'} {self.says}"
