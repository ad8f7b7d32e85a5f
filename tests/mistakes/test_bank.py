"""What a bank of mistakes refuses."""

import pytest

from autograder.mistakes.bank import Bank, BankError


@pytest.fixture
def roots():
    """A bank for the claim that the length is |c| times a root."""
    return Bank("constant_vector_length", places={"ROOT": "k ** 0.5"}, words={"NUMBER": "a root"})


def test_names_in_sentences_are_filled_in(roots):
    roots.mistake("no-root", "Take {NUMBER}: `{ROOT}`.", ROOT="k")
    assert roots["no-root"].says == "Take a root: `k ** 0.5`."


@pytest.mark.parametrize(
    "says, edits",
    [("Take {WIDTH}.", {"k ** 0.5": "k"}), ("Take a root.", {"k ** 3": "k"})],
    ids=["a name that nobody knows", "an edit of what is not there"],
)
def test_a_mistake_that_does_not_fit_is_refused(roots, says, edits):
    with pytest.raises(BankError):
        roots.mistake("wrong", says, edits)
    assert "wrong" not in roots
