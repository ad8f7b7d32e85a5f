"""The errors that the kit raises on purpose. Catch them by class; each message says in a sentence what is wrong."""

import errno

DISK = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG, errno.EIO}  # these hit everybody, not one submission


class KitError(Exception):
    """Base class of errors that the kit raises on purpose. The message is a sentence or two for whoever can fix it."""


class Ended(SystemExit):
    """A signal has ended the process. A course file that ends it raises a plain SystemExit."""


# --- errors that the user of a command can do something about -----------------------------------------


class UserError(KitError):
    """A command cannot go on; its message is printed as it is, and the exit code is 2."""


class UsageError(UserError):
    """The request cannot be carried out; the message says why and what to do."""


class CourseError(UserError):
    """The course's own files are wrong or missing; the message says which."""


class GraderError(CourseError):
    """An exercise's checks cannot be run as they are written; the message names the check and the file."""


class SandboxError(UserError):
    """No sandbox can be started, or none that can be trusted; the message says what is missing and what to do."""


class NbgraderError(UserError):
    """nbgrader could not do what it was asked to do; the message is its own."""


# --- errors that a submission can cause ---------------------------------------------------------------


class Unreadable(KitError):
    """A submission cannot be read; the message is a sentence for the student."""


class NotRecorded(KitError):
    """A result could not be written into the gradebook; the message says why."""


class ChildGone(KitError):
    """The child no longer answers. `status` is "timeout" or "killed"; the message says what happened."""

    def __init__(self, status: str, message: str) -> None:
        super().__init__(message)
        self.status = status


class Died(KitError):
    """The sandbox has ended, or a child that had not begun its work; it can be started again."""


class Interrupted(KitError):
    """A request ran past its deadline and was interrupted; the child is still alive.

    `where` says which line of the submission it was at, as the child reports it; "" if that is not known.
    """

    def __init__(self, message: str, where: str = "") -> None:
        super().__init__(message + where)
        self.where = where
