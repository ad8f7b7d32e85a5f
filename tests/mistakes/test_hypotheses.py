"""Several mistakes at once: edits of one right answer, made together."""

import pytest

from autograder.checks.gates import Gates
from autograder.checks.proxies import Transcript
from autograder.checks.runner import Graders
from autograder.mistakes.bank import bank
from autograder.mistakes.behaviour import Behaviour, Behaviours
from autograder.mistakes.diagnosis import Odds, Search
from autograder.mistakes.evidence import likeness, without_numbers
from autograder.mistakes.hypotheses import composed, right

BANK = bank("attention")
RIGHT = right(BANK)


def test_edits_of_different_places_are_both_made():
    both = composed(RIGHT, BANK["no-scale"], BANK["mask-ignored"])
    assert both.ids == ("no-scale", "mask-ignored")
    assert "** 0.5" not in both.source and "masked_fill" not in both.source
    assert set(both.local().bench.namespace) >= {"attention"}


def test_edits_of_one_place_do_not_fit_together():
    assert composed(RIGHT, BANK["no-scale"], BANK["scale-without-root"]) is None


def test_an_edit_may_be_made_within_what_another_has_put_there():
    one, other = BANK["mask-as-padding"], BANK["mask-fills-with-zero"]
    assert any(old in one.edits for old in BANK.places.values()) and composed(RIGHT, one, other) is not None


def test_what_is_written_out_in_full_stands_alone():
    head = bank("Head")
    assert composed(right(head), head["original-003"], head["no-scale"]) is None
    assert composed(right(head), head["original-003"]).source == head["original-003"].source


@pytest.fixture(scope="module")
def behaviours():
    return Behaviours(BANK, Graders(), 1)


def test_a_behaviour_is_kept(behaviours):
    one = behaviours.of([BANK["no-scale"]])
    assert one is behaviours.of([BANK["no-scale"]])
    assert one.at("test_weights") is one.at("test_weights") and one.at("test_weights").failed
    assert not behaviours.right.at("test_weights").failed


def test_what_outlives_its_objects_does_the_same_whichever_check_is_asked_first():
    """The order depends on how long checks took: in one of 20 orders, a cache that all share got a false name."""
    mistakes, graders = bank("KVCache"), Graders()
    checks = [check.name for check in graders.checks["KVCache"]]
    seen = []
    for order in (checks, checks[::-1]):
        one = Behaviours(mistakes, graders, 1).of([mistakes["shared-by-all-caches"]])
        found = {name: one.at(name) for name in order}
        seen.append({name: (found[name].failed, found[name].reason) for name in checks})
    assert seen[0] == seen[1]


def test_what_was_learnt_as_the_same_is_not_compared(monkeypatch):
    behaviours = Behaviours(BANK, Graders(), 1)
    one, name = behaviours.of([BANK["no-scale"]]), "test_weights"
    one.found[name] = behaviours.right.at(name)
    monkeypatch.setattr("autograder.mistakes.behaviour.likeness", None)
    assert one.is_idle(name)


def test_answers_go_on_where_a_check_ends(behaviours):
    """A missing scale ends the check at its first call, without a mask; the other answers are there all the same."""
    alone = behaviours.of([BANK["no-scale"]])
    assert alone.at("test_mask_forms").failed
    seen, answers = alone.at("test_mask_forms").transcript, alone.answers("test_mask_forms")
    assert len(answers.entries) > len(seen.entries)
    masked = behaviours.of([BANK["no-scale"], BANK["mask-inverted"]])
    assert masked.answers("test_mask_forms").entries != Transcript(answers.entries)


def test_reasons_are_compared_without_their_numbers():
    one = without_numbers("57% of the values are wrong, by less than 1%. The loss of step 3 should not be 3.1e-07.")
    other = without_numbers("9% of the values are wrong, by less than 1%. The loss of step 12 should not be -1.2.")
    assert one == other and "values are wrong" in one


def test_only_what_may_stand_in_its_place_is_run_to_prove_a_name(monkeypatch):
    """To run all mistakes in the place of each finds the same names."""
    of, graders = bank("softmax"), Graders()
    pair = composed(right(of), of["divided-by-max"], of["weights-detached"])
    run = graders.run("softmax", pair.local(), 1)
    behaviours = Behaviours(of, graders, 1)
    found = []
    for every in (False, True):
        if every:
            monkeypatch.setattr(Search, "_replacements", lambda self, candidates, others, is_alike: candidates)
        search = Search(run, behaviours, Odds())
        found.append(({mistake.id for mistake in search.mistakes()}, len(search.tried)))
    (names, few), (same, many) = found
    assert names == same == set(pair.ids) and few < many


def names_and_runs(monkeypatch, exercise, ids, method, replacement):
    """What a search finds for a pair of mistakes, and the answers that checks are run of: (names, answers).

    First as it is, then with one of its methods replaced.
    """
    of, graders = bank(exercise), Graders()
    pair = composed(right(of), *(of[id] for id in ids))
    run = graders.run(exercise, pair.local(), 1)
    ran, whole = [], Behaviour._run
    monkeypatch.setattr(Behaviour, "_run", lambda self, check: (ran.append(self), whole(self, check)))
    for is_replaced in (False, True):
        if is_replaced:
            monkeypatch.setattr(Search, method, replacement)
        names = {mistake.id for mistake in Search(run, Behaviours(of, graders, 1), Odds()).mistakes()}
        yield names, [*ran]
        ran.clear()


def test_the_first_wrong_answers_rule_out_what_whole_checks_would(monkeypatch):
    """Without them, the same names are found by running more checks."""
    ids = ("divided-by-max", "float32-comes-out")
    found = names_and_runs(monkeypatch, "softmax", ids, "_first_wrong", lambda self, besides, beside, seen: [])
    (names, few), (same, many) = [
        (names, sum(len(one.hypothesis.mistakes) == 2 for one in ran)) for names, ran in found
    ]
    assert names == same == set(ids) and few < many


@pytest.mark.slow("it diagnoses many pairs twice")
def test_what_one_mistake_hides_of_another_is_found_without_asking_all_of_them_in_whole_checks(monkeypatch):
    """One gives all first wrong answers; the other one shows where the student's are no longer those of the first."""
    ids = ("layers-exchanged", "masks-not-taken")
    found = names_and_runs(monkeypatch, "ParallelCoAttention", ids, "_one_that_hides_another", lambda self: [])
    (names, few), (same, many) = [(names, len(ran)) for names, ran in found]
    assert names == same == set(ids) and few < 0.6 * many


def test_what_another_one_does_as_well_beside_the_leading_mistake_is_not_named():
    """A sigmoid of each score does not see whether scores or their factors change sides; a softmax of them does."""
    of, graders = bank("SingleHeadSelfAttention"), Graders()
    pair = composed(right(of), of["query-and-key-swapped"], of["sigmoid-weights"])
    run = graders.run("SingleHeadSelfAttention", pair.local(), 1)
    found = Search(run, Behaviours(of, graders, 1), Odds()).mistakes()
    assert [mistake.id for mistake in found] == ["sigmoid-weights"]


def test_how_a_refusal_is_worded_counts_where_the_check_reads_it_alone():
    """Numbers in the message of a ValueError are everybody's own, unless a right answer needs them to pass."""
    behaviours = Behaviours(bank("top_p"), Graders(), 1)
    assert not behaviours.questions("test_refused").are_about_words
    refused, silent = ("error", "ValueError", ["0", "1"]), ("error", "ValueError", [])
    seen = Transcript([refused, ("called", []), refused])  # the first is no refusal of the right answer's
    assert behaviours.plain("test_refused", seen).entries == [refused, ("called", []), silent]
    behaviours = Behaviours(bank("get_batch"), Graders(), 1)
    (check,) = [name for name in behaviours.checks if behaviours.questions(name).are_about_words]
    right = behaviours.right.at(check).transcript
    assert ("error", "ValueError") in [entry[:2] for entry in right.entries]
    assert behaviours.plain(check, right).entries == right.entries


def test_first_answers_are_those_that_all_of_them_begin_with():
    of, graders = bank("softmax"), Graders()
    all_of_them = Behaviours(of, graders, 1).of([of["not-divided"]]).answers("test_any_dimension")
    first = Behaviours(of, graders, 1).of([of["not-divided"]]).first_answers("test_any_dimension", 2)
    assert len(first.entries) == 2 < len(all_of_them.entries)
    assert likeness(first, Transcript(all_of_them.entries[:2]), Transcript(all_of_them.entries[:2])).alike


def test_an_easy_case_is_asked_once_of_a_right_answer(monkeypatch):
    """By a check of it and by what is asked of a student's answer, in either order: it may train a model."""
    behaviours, asked = Behaviours(BANK, Graders(), 1), []
    ask = Gates._asked

    def noted(self, key, asks):
        asked.append(key)
        return ask(self, key, asks)

    monkeypatch.setattr(Gates, "_asked", noted)
    first, *others = [name for name, check in behaviours.checks.items() if check.points]
    behaviours.questions(first)
    for name in others:
        behaviours.right.at(name)
        behaviours.questions(name)
    assert asked and len(asked) == len(set(asked))
