"""The errors that the kit raises on purpose, caught by class: each tells in one sentence what was wrong."""

import errno

DISK = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG, errno.EIO}  # what goes wrong for everybody, not for one


class KitError(Exception):
    """Something that was foreseen went wrong. The message is one sentence (or two) for whoever can mend it."""


# --- what whoever gives a command can do something about ---------------------------------------------


class UserError(KitError):
    """A command cannot go on; its message is printed as it is, and the exit code is 2."""


class UsageError(UserError):
    """What was asked for cannot be done; the message says why and what to do."""


class CourseError(UserError):
    """The course's own files are wrong or missing; the message says which."""


class GraderError(CourseError):
    """An exercise's checks cannot be run as they are written; the message names the check and the file."""


class SandboxError(UserError):
    """There is no sandbox, or none that can be trusted; the message says what is missing and what to do."""


class NbgraderError(UserError):
    """nbgrader could not do what was asked of it; the message is what it said."""


# --- what a submission can bring about ----------------------------------------------------------------


class Unreadable(KitError):
    """A submission cannot be read; the message is a sentence for the student."""


class NotRecorded(KitError):
    """A result could not be written into the gradebook; the message says why."""


class ChildGone(KitError):
    """The child can no longer be talked to. `status` is "timeout" or "killed"; the message says what happened."""

    def __init__(self, status: str, message: str) -> None:
        super().__init__(message)
        self.status = status


class Died(KitError):
    """The sandbox, or a child that had not begun, has ended; it can be made anew."""


class Interrupted(KitError):
    """A request ran past its deadline and was interrupted; the child lives on."""
