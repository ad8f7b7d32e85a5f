"""Opens a hand-in that is a single file: an archive, or an e-mail message with attachments."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from ..submission.read import StrPath
from .unpacking import Tar, Zip, is_message, unpacked

if TYPE_CHECKING:
    from .messages import Message


def opened(path: StrPath, known: Collection[str] = ()) -> Zip | Tar | Message:
    """Open an archive or a message; its `regular_files` yields pairs of a name and a function to open the file.

    `known` are words that names in it may have, beyond ASCII. Raises Refused.
    """
    if not is_message(str(path)):
        return unpacked(path, known)
    from .messages import Message  # late, for a quick start

    return Message(path)
