"""Lesson 12: what it says of its language, of bytes, and of what models reach, checked against its cells."""

import re

import pytest
import torch
from lessons import lesson, run

from autograder import course
from autograder.mistakes.bank import bank

pytestmark = lesson("12")


@pytest.fixture(scope="module")
def ran():
    return run("12")


def test_the_least_loss_is_what_the_prediction_asks_for(ran):
    (least,) = re.findall(r"over 2,000 texts: ([\d.]+)", ran.printed["language-look"])
    assert ran.says("above or below log 4 = 1.39") and 0.9 < float(least) < 1.1


def test_how_many_answers_there_are_and_what_a_table_of_pairs_loses_on_them(ran):
    language = ran.values["Language"](7)
    texts, likely = language.texts(2000, 64, 8)
    answers = (likely == 0).double().mean().item()
    assert ran.says("more than a quarter of what comes is an answer") and 0.25 < answers < 0.33
    # the colours are any of four, and pairs tell nothing of them
    assert ran.says("some 0.4 nats a token above the rules") and answers * torch.tensor(4.0).log() == pytest.approx(
        0.4, abs=0.05
    )


def test_the_bytes_by_hand_are_those_of_the_state(ran):
    bytes_of = ran.values["bytes_of"]
    model = ran.values["MyModel"](52)
    _, state = ran.values["read"](model, torch.zeros(1, 64, dtype=torch.long))
    assert ran.says("both layers keep 128 bytes for each token") and bytes_of(state) / 64 == 128
    full = ran.values["GroupedQueryAttention"](32, num_heads=4, num_kv_heads=4)
    cache = ran.values["KVCache"]()
    full(torch.zeros(1, 64, 32), cache)
    assert ran.says("With full attention of 4 heads, 8 wide, two layers keep 512 bytes a token")
    assert 2 * bytes_of([cache.keys, cache.values]) / 64 == 512
    assert ran.says("takes 1,024 bytes in each layer", "Two layers take 2,048: after 64 tokens 32 bytes for each")
    assert bytes_of([torch.zeros(1, 4, 8, 8)]) == 1024 and 2 * 1024 / 64 == 32


def test_the_solution_keeps_to_the_budget_and_far_below_the_bar(ran):
    (said,) = re.findall(r"([\d,]+) weights, (\d+) bytes of state a token, ([\d.]+) nats", ran.printed["check"])
    weights, size, above = (float(number.replace(",", "")) for number in said)
    assert weights <= ran.values["MOST_WEIGHTS"] and size <= ran.values["MOST_BYTES"] and above < 0.06


def test_the_window_that_the_text_speaks_of_fits_and_forgets():
    says = bank("MyModel")["window-of-16"].says
    assert "forgets" in says and 2 * 16 * 64 * 4 / 64 <= 256  # full heads in two layers, 16 tokens, over 64
    assert "window-of-16" in bank("MyModel") and course.exercises()["MyModel"].points == 10


def test_pictures_can_be_read(ran):
    assert len(ran.pictures) == 2 and ran.hard_to_read() == []
