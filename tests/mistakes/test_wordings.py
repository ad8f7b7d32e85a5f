"""What students read about a mistake: an id that several exercises have says the same in all of them.

Where words differ, they are filled into one template (`families.wordings`, or a list of `shared` mistakes).
"""

import importlib
import pkgutil
import re

import pytest

from autograder import course
from autograder.exercises import families
from autograder.exercises.families.wordings import SAYS, says
from autograder.mistakes.bank import Shared, bank

WITHIN = re.compile(r"^In (your )?`\w+`: ")

# Exercises with a sentence of their own, by the id that they share with others: ids are stored with grades, and stay.
OWN = {
    "another mistake, which happens to have the same id": {
        "another-error": "PagedCache",
        "base-two": "softmax",
        "blocks-overlap": "tiled_attention",
        "crashes-mended": "MultiHeadSelfAttention SelfAttentionWide",
        "degrees": "learning_rate",
        "diagonal-tile-left-out": "flash_kernel",
        "first-head-for-all": "GroupedQueryAttention",
        "first-tokens-kept": "generate",
        "flattened": "generate",
        "keys-as-values": "flash_kernel",
        "last-query-only": "check_cross",
        "logarithm": "alibi_bias",
        "made-on-the-cpu": "Block",
        "mean-subtracted": "RMSNorm",
        "multiplied-by-the-root": "scaled_self_attention",
        "no-gradient": "tiled_attention",
        "no-mask": "add_kernel",
        "no-scale": "flash_kernel",
        "norms-missing": "GroupedQueryAttention",
        "not-causal": "MyModel",
        "old-keys-not-rotated": "KVCache",
        "one-refused": "sliding_window_mask",
        "one-row": "check_softmax",
        "one-token-too-many": "generate",
        "one-too-few": "EvictingCache generate indexed_attention padding_mask sliding_window_mask softmax_kernel",
        "one-too-many": "EvictingCache add_kernel generate padding_mask sliding_window_mask softmax_kernel",
        "only-batches": "MultiHeadSelfAttention",
        "original-001": "MultiHeadSelfAttention",
        "original-003": "BigramLanguageModel Head generate",
        "original-004": "SelfAttentionNaive",
        "pair-returned": "generate",
        "positions-restarted": "KVCache",
        "probabilities-returned": "MyModel",
        "rank-not-checked": "Block",
        "renormalised": "sink_attention",
        "root-forgotten": "RMSNorm clip_gradients",
        "sizes-not-refused": "PagedCache",
        "sizes-swapped": "SwiGLU",
        "softmax-gate": "GatedAttention",
        "softmax-missing": "BigramLanguageModel",
        "softmax-over-everything": "AlternatingCoAttention ParallelCoAttention",
        "sum-over-everything": "softmax",
        "sum-subtracted": "softmax",
        "upside-down": "learning_rate",
        "weights-kept": "flash_attention",
    },
    "what is hidden there is not what comes after a token, or not by a square triangle": {
        "future-seen": "sliding_window_mask",
        "itself-hidden": "sliding_window_mask",
        "mask-added-as-a-number": "EncoderHead",
        "mask-after-softmax": "EncoderHead",
        "mask-inverted": "CausalAttention Head attention capped_attention masked_weights sink_attention",
        "not-itself": "cached_attention",
        "one-step-ahead": "KVCache cached_attention sliding_window_mask",
    },
    "the same slip, but it shows otherwise there, or is mended otherwise": {
        "always-bias": "Head",
        "changed-in-place": "RMSNorm",
        "detached": "cached_attention",
        "dropout-on-scores": "BigramLanguageModel",
        "epsilon-in-the-sum": "attention",
        "epsilon-of-a-billionth": "attention",
        "exp-without-max": "softmax",
        "float32-comes-out": "BigramLanguageModel",
        "float64-comes-out": "BigramLanguageModel",
        "input-changed-in-place": "apply_rope",
        "last-start-missing": "train",
        "layers-made-in-forward": "ParallelCoAttention SwiGLU",
        "length-not-checked": "BigramLanguageModel",
        "lets-everything-through": "check_softmax",
        "mask-on-the-cpu": "attention",
        "nan-patched-in-weights": "AlternatingCoAttention ParallelCoAttention",
        "no-output-projection": "GatedAttention",
        "nothing-left-is-averaged": "AlternatingCoAttention ParallelCoAttention",
        "nothing-left-is-nan": "AlternatingCoAttention ParallelCoAttention",
        "one-head": "BigramLanguageModel",
        "rank-asserted": "CausalAttention Head SelfAttention SingleHeadSelfAttention",
        "returns-nothing": "learning_rate",
        "softmax-in-float32": "SelfAttentionNaive scaled_self_attention self_attention",
        "softmax-over-batch": "AlternatingCoAttention ParallelCoAttention generate",
        "super-not-called": "BigramLanguageModel",
        "too-long-not-refused": "padding_mask",
    },
}


def sentences() -> dict[str, dict[str, str]]:
    """What is said about each id that several exercises have, by exercise."""
    found: dict[str, dict[str, str]] = {}
    for exercise in course.exercises():
        for id, mistake in bank(exercise).items():
            found.setdefault(id, {})[exercise] = WITHIN.sub("", mistake.says)
    return {id: said for id, said in found.items() if len(said) > 1}


def templates() -> dict[str, set[str]]:
    """The sentences of mistakes that families share, with the names of words, by id."""
    found = {id: {text} for id, text in SAYS.items()}
    for module in pkgutil.walk_packages(families.__path__, f"{families.__name__}."):
        if module.name.endswith(".mistakes"):
            lists = [value for value in vars(importlib.import_module(module.name)).values() if isinstance(value, dict)]
            for id, one in ((id, one) for family in lists for id, one in family.items() if isinstance(one, Shared)):
                if id not in SAYS:
                    found.setdefault(id, set()).add(one.says)
    return found


def fits(template: str, sentence: str) -> bool:
    """Whether a sentence is that template with words filled in."""
    texts = re.split(r"\{[A-Z_0-9]+\}", " ".join(template.split()))
    return re.fullmatch(".*".join(map(re.escape, texts)), sentence, re.IGNORECASE) is not None


SENTENCES, TEMPLATES = sentences(), templates()


def own(id: str) -> set[str]:
    return {exercise for ids in OWN.values() for exercise in ids.get(id, "").split()}


def has_one_wording(id: str, said: dict[str, str]) -> bool:
    known = TEMPLATES.get(id, set()) if id in SAYS else {*TEMPLATES.get(id, ()), *said.values()}
    return any(all(fits(template, sentence) for sentence in said.values()) for template in known)


@pytest.mark.parametrize("id", SENTENCES)
def test_an_id_has_one_wording(id):
    said = {exercise: sentence for exercise, sentence in SENTENCES[id].items() if exercise not in own(id)}
    listed = "\n".join(f"{exercise}: {sentence}" for exercise, sentence in said.items())
    assert len(said) < 2 or has_one_wording(id, said), f"{id} has several wordings, give it one in SAYS:\n{listed}"


def test_no_exercise_words_by_itself_what_others_share():
    for ids in OWN.values():
        for id, exercises in ids.items():
            for exercise in exercises.split():
                others = {one: sentence for one, sentence in SENTENCES[id].items() if one not in own(id)}
                said = others | {exercise: SENTENCES[id][exercise]}
                assert len(said) < 2 or not has_one_wording(id, said), f"{exercise} shares the wording of {id}"


def test_each_sentence_is_used():
    used = {id for exercise in course.exercises() for id in bank(exercise)}
    assert SAYS.keys() <= used


def test_words_are_filled_in():
    assert says("output-alone", PAIR="output, lse") == "It returns the output alone: return the pair `(output, lse)`."
    assert says("upside-down", within="forward").startswith("In `forward`: each token sees itself")
    assert "{SCORED}" in says("no-softmax"), "words that are not given are left to the bank"


def test_unknown_words_are_refused():
    with pytest.raises(ValueError, match="the sentence of upside-down has no PAIR"):
        says("upside-down", PAIR="output, lse")
