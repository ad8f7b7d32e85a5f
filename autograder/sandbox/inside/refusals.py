"""What the kit raises for what a submission gave it: these are its errors, and none of the submission's code."""


class MixedDevices(RuntimeError):
    """An operation got tensors from two devices; it would fail on a GPU."""


class NoAnswer(Exception):
    """A model gives something that cannot be used; the message is a sentence without its full stop."""


class NotCompiled(Exception):
    """Triton's compiler does not take a kernel; the message is a sentence without its full stop."""


class OutOfBounds(IndexError):
    """A kernel accesses memory outside of the tensors that it was given."""


class TokensRefused(ValueError):
    """A stub model was called with tokens that it does not take."""


class Unusable(Exception):
    """The submission's object cannot be used as requested; the message is a sentence without its full stop."""
