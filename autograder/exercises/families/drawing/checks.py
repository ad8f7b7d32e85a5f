"""What is checked wherever something is drawn from a `generator` that may be None."""

from ....checks.api import CheckFailed
from ....checks.proxies import Submission


def generator_told(
    submission: Submission, what: str, unlike: bool, alike: bool, fixed: bool, own: bool, seeded: bool
) -> None:
    """Raises CheckFailed if what was drawn shows that chance does not come from where it should.

    `what` are the results. With generators: `unlike`, those of one seed gave different ones; `alike`, those of
    different seeds gave the same. Without one: `fixed`, they were the same from another state of torch's own;
    `own`, they were different ones from the same state; `seeded`, the next call gave the same again.
    """
    says = {
        f"Two generators of one seed gave different {what}.": unlike,
        f"Generators of different seeds gave the same {what}.": alike,
        f"Without a generator, the {what} were the same twice, though torch's own was in another state.": fixed,
        f"Without a generator, the {what} were different ones, though torch's own was in the same state.": own,
        f"Without a generator, the next call gave the same {what} again: torch's own was seeded.": seeded,
    }
    submission.note(*says.values())
    for sentence, is_wrong in says.items():
        if is_wrong:
            raise CheckFailed(sentence)
