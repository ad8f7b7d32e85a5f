"""What a bank of mistakes refuses."""

import pytest

from autograder.mistakes.bank import Bank, BankError, shared


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


@pytest.mark.parametrize(
    "make, says",
    [
        (
            lambda bank: bank.mistake("wrong", "Take a root.", ROTO="k"),
            "ROTO, which is none of its places: did you mean ROOT?",
        ),
        (lambda bank: bank.variant("wrong", ROOT="k"), "wrong, which is none of its mistakes: these are none"),
        (
            lambda bank: bank.share({"a": shared("It is.", ROOT="k")}, "b"),
            "b, which is none of its mistakes of that family",
        ),
        (lambda bank: bank.share({"a": shared("It is.", ROTO="k")}), "'ROTO' occurs 0 times in the solution"),
        (
            lambda bank: bank.mistake("wrong", "Take a root.", {"k": "c"}),
            "and must occur exactly once: give a longer piece",
        ),
        (lambda bank: bank.mistake("wrong", "Take a root.", ROOT="{ROTO}"), "{ROTO}, none of its places and words"),
    ],
    ids=[
        "a place",
        "a variant of nothing",
        "a mistake of a family",
        "a place in a family",
        "a piece that is there twice",
        "a name in a text",
    ],
)
def test_a_misspelt_name_is_an_error_that_names_the_exercise(roots, make, says):
    with pytest.raises(BankError) as refused:
        make(roots)
    said = str(refused.value)
    assert said.startswith("constant_vector_length: ") and says in said
