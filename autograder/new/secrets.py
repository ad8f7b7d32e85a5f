"""Tells secrets by how they look: keys, tokens and passwords, in texts and in the names of files and options."""

import re

IN_TEXT = re.compile(
    r"""-----BEGIN[ ](?:[A-Z]+[ ])*PRIVATE[ ]KEY-----
    |://[^\s/:@'"]+:[^\s/@'"]+@                  # an address with a password, such as a database's
    |\b(?:ghp|gho|ghs)_[A-Za-z0-9]{36}|\bgithub_pat_\w{22,}|\bglpat-[\w-]{20}
    |\bhf_[A-Za-z0-9]{30,}|\bsk-[A-Za-z0-9]{20,}|\bAKIA[0-9A-Z]{16}\b
    |\bdesk-[A-Za-z0-9_-]{43}\b                  # a personal key of the desk
    |\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]+""",
    re.VERBOSE,
)
NAME = re.compile(r"(?:^|[_\W]|pg)(?:secret|password|passwd|passphrase|token|api_?key|private_?key|credentials?)$")
FILE = re.compile(
    r"""id_(?:rsa|dsa|ecdsa|ed25519)\b.*
    |.*\.(?:pem|key|p12|pfx|jks|keystore|kdbx)
    |.*(?:secret|password|credential)s?\b.*\.(?:json|ya?ml|toml|ini|txt|cfg|csv)""",
    re.VERBOSE,
)
GIVEN = re.compile(r"(\w+)[\"']?\s*\]?\s*[=:]\s*[\"'][^\"']")  # a name and the beginning of a text for it


def is_secret(text: str) -> bool:
    """Whether a text has a key, a token or a password in it."""
    return IN_TEXT.search(text) is not None


def names_a_secret(name: str) -> bool:
    """Whether a value of this name is one."""
    return NAME.search(name.lower()) is not None


def gives_a_secret(comment: str) -> bool:
    """Whether a comment has a secret in it, or a line of code that sets one."""
    return is_secret(comment) or any(names_a_secret(name) for name in GIVEN.findall(comment))


def is_file_of_secrets(name: str) -> bool:
    """Whether a file of this name is for secrets."""
    return FILE.fullmatch(name.lower()) is not None
