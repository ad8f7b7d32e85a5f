"""Lesson 09: what it says of caches, windows, sinks, tiles and published sizes, held against what its cells compute."""

import re

import pytest
import torch
import torch.nn.functional as F
from lessons import lesson, run

pytestmark = lesson("09")


@pytest.fixture(scope="module")
def ran():
    return run("09")


def found(ran, cell, pattern):
    """The groups of each match in what a cell printed; at least one."""
    groups = re.findall(pattern, ran.printed[cell])
    assert groups, f"{cell} printed no {pattern!r}: {ran.printed[cell]}"
    return groups


def number(text):
    return float(text.replace(",", ""))


# --- the cache ------------------------------------------------------------------------------------


def test_scores_of_a_long_text_are_as_large_as_they_are_said_to_be(ran):
    assert ran.says("for a text of 100,000 tokens the scores of a single head alone are 40 gigabytes")
    assert 100_000**2 * torch.finfo(torch.float32).bits // 8 == 40e9


def test_what_is_written_later_changes_nothing_before_it(ran):
    """Keys, values and outputs of a token stay as they are: what the cache stands on."""
    layer = ran.values["GroupedQueryAttention"](16, 4, 2, rope_base=10000.0).double()
    x = torch.randn(1, 9, 16, dtype=torch.float64)
    assert torch.allclose(layer(x)[:, :5], layer(x[:, :5]), rtol=0, atol=1e-12)


def test_one_answer_is_computed_in_several_ways(ran):
    assert all(float(difference) < 1e-12 for difference in found(ran, "cache-look", r"largest difference (\S+)"))
    (difference,) = found(ran, "cached-look", r"in chunks of 30: largest difference (\S+)")
    assert float(difference) < 1e-12


def test_a_cache_saves_products_and_costs_bytes(ran):
    without, with_cache = (number(products) for products in found(ran, "writer", r"a cache: +([\d,]+) products"))
    assert ran.says("without a cache it costs 53 times as many products", "words per second differ less")
    assert round(without / with_cache) == 53 and "\nthe same 101 words; 53 times" in ran.printed["writer"]
    assert ran.says("$= 768$ bytes per word, 77,568 for 101") and 2 * 3 * 2 * 16 * 4 == 768
    assert "hold 77,568 bytes" in ran.printed["writer"]
    assert ran.says("a tale of 101 words costs a fiftieth of the products")
    (speeds,) = found(ran, "writer", r"after 1,000 words: ([\d.]+) words per second without a cache, ([\d.]+) with one")
    assert all(float(speed) > 0 for speed in speeds) and ran.says("After 1,000 words it no longer does")


def test_seats_that_are_taken_at_once_save_steps_and_change_no_tale(ran):
    rows = found(ran, "seats", r"(?:slowest|once|of 8) +(\d+) +(\d+)% +(\d+) ")
    (waiting, half, together), (at_once, full, longest), (chunks, _, short) = [[int(n) for n in row] for row in rows]
    assert ran.says(f"{at_once} steps in place of {waiting}, so {1 - at_once / waiting:.0%}".replace("%", " %"))
    assert half < 60 and full > 80 and together > longest
    assert longest == 61 + 7 and ran.says("reader 9's 61 words are read in one step, with 7 of the others")
    assert ran.says(f"In **chunks** of 8 no step has more than {short} words, for {chunks - at_once} steps more")
    assert "the same 32 tales; that of reader 8 is the one that your cache wrote alone" in ran.printed["seats"]
    assert "20% held keys and values" in ran.printed["seats"] and ran.says("a fifth of it holds keys and values")


def test_what_a_window_no_longer_reaches_is_lost(ran):
    share = {window: list(right.values()) for window, right in ran.values["share_right"].items()}
    assert ran.says("a window of 12 keeps both, one of 8 only the place", "a window of 16 loses it")
    assert min(share[64]) == min(share[12][:3]) == 16 and min(share[32]) >= 15
    assert share[16][3] == share[12][3] == 0 and share[8] == [0, 16, 0, 0]
    riddle, _ = ran.values["beginnings"](0)["wide: the place"]
    wanted = {"fox": 11, "field": 7}
    assert {word: len(riddle.split()) - 1 - _last(riddle.split(), word) for word in wanted} == wanted
    listed, last = ran.values["beginnings"](0)["last of a list"]
    assert len(listed.split()) - 1 - _last(listed.split(), last) == 23 and 3 * (16 - 1) == 45


def _last(words, word):
    return max(place for place, one in enumerate(words) if one == word)


def test_out_of_sight_is_out_of_mind(ran):
    """Which word is likeliest after the riddle, in windows around the one that still holds the animal."""
    riddle, animal = ran.values["beginnings"](0)["tired: the animal"]
    assert ran.says("*bear*, and it is sure of it, although no bear is in the tale", "In a window of 6", "it wavers")

    def likeliest(window):
        with torch.no_grad():
            look = ran.values["through_a_window"](window)
            likely = ran.values["writer"](ran.values["numbers_of"](riddle), look=look)[0, -1].softmax(dim=0)
        return ran.values["WORDS"][likely.argmax()], likely.max().item()

    assert likeliest(12)[0] == animal == "fox" and "bear" not in riddle
    assert likeliest(11)[0] == "bear" and likeliest(11)[1] > 0.9
    assert likeliest(6)[1] < 0.5


def test_many_readers_share_what_the_weights_cost(ran):
    served = ran.values["served"]
    assert ran.says("768 bytes for each word so far, 24.5 words on average")
    assert sum(range(1, 49)) / 48 == 24.5 and 768 * 24.5 == 18_816
    assert ran.says("are 14 GB", "moves 2 TB in a second", "at most 143 tokens per second")
    assert round(2e12 / (2 * 7e9)) == 143
    assert ran.values["weights_of_storyteller"] == 4 * 134_528 > 5e5
    assert served[64][1] > 3 * served[1][1] and served[64][1] > served[64][0]


def test_the_storyteller_has_no_sink(ran):
    first = ran.values["weight_on_first"]
    assert ran.says("between 3 and 6 % from each head", "it would get 4 % on average")
    assert 0.025 < first.min() < first.max() < 0.065
    assert round(100 * sum(1 / (place + 1) for place in range(1, 102)) / 101) == 4


def test_a_token_costs_the_square_or_a_line(ran):
    assert ran.says("grow with the **square** of the length", "they grow **linearly**")
    for way, straight in (("without", False), ("with", True)):
        products = [counted for counted, _ in ran.values["costs"][way]]
        steps = [later - earlier for earlier, later in zip(products, products[1:], strict=False)]
        bends = {later - earlier for earlier, later in zip(steps, steps[1:], strict=False)}
        assert bends == {0} if straight else len(bends) == 1 and min(bends) > 0
    slow, fast = (ran.values["costs"][way][-1][1] for way in ("without", "with"))
    assert slow > 5 * fast


def test_the_meter_counts_what_torch_does(ran):
    meter = ran.values["Meter"]
    a, b = torch.randn(2, 3, 5), torch.randn(2, 5, 7)
    for call, products in (
        (lambda: a @ b, 2 * 3 * 5 * 7),
        (lambda: torch.nn.Linear(5, 4)(a), 2 * 3 * 5 * 4),
        (lambda: torch.einsum("bij,bjk->bik", a, b), 2 * 3 * 5 * 7),
        (lambda: F.scaled_dot_product_attention(a[None], a[None], a[None]), 2 * 3 * 3 * (5 + 5)),
    ):
        with torch.no_grad(), meter() as counted:
            call()
        assert counted.products == products
    with meter() as counted:
        torch.zeros(100).view(10, 10).expand(50, 10, 10)[0]
    assert counted.largest == 400


def test_the_triangle_starts_at_the_first_key(ran):
    seen, from_the_first = ran.values["weights_on_six"], ran.values["from_the_first_key"]
    assert ran.says("single query of decode sees key 0 and nothing else", "For a square the two are the same")
    assert seen(from_the_first, 1).tolist() == [[1, 0, 0, 0, 0, 0]]
    assert torch.allclose(seen(from_the_first, 6), seen(ran.values["cached_attention"], 6))


# --- looking at less ------------------------------------------------------------------------------


def test_pairs_in_a_window_are_counted_right(ran):
    mask = ran.values["sliding_window_mask"]
    counted = dict(found(ran, "window-look", r"(\d+) tokens: +[\d,]+ pairs causal, +([\d,]+) in a window of 1024"))
    assert int(mask(4096, 1024).sum()) == number(counted["4096"])


def test_layers_reach_further(ran):
    reached = [int(places) for _, places in found(ran, "reach-look", r"(\d) layers?: the last token sees (\d+) places")]
    assert ran.says("Each layer adds window − 1 places: 4, 7, 10") and reached == [4, 7, 10]
    assert reached == [layers * 3 + 1 for layers in (1, 2, 3)]


def test_the_two_windows_of_the_one_file_code_differ_by_one(ran):
    """`triu(diagonal=-window)` shows window + 1 tokens, the student's mask and a cache of `window` one fewer."""
    assert ran.says("a token sees $W + 1$ when it is read with the prompt, and $W$ when it is read alone")
    prefill = torch.ones(20, 20).tril().triu(diagonal=-6)
    assert prefill[-1].sum() == 7 and ran.values["sliding_window_mask"](20, 6)[-1].sum() == 6


def test_slopes_are_as_they_are_said_to_be(ran):
    rows = found(ran, "alibi-look", r"(\d+) heads: (.*)")
    slopes = {int(heads): [float(slope) for slope in row.split()] for heads, row in rows}
    assert ran.says("With 8 heads the slopes are 1/2, 1/4, …, 1/256")
    assert slopes[8] == pytest.approx([2**-n for n in range(1, 9)], abs=1e-4)
    assert slopes[6][:4] == pytest.approx([4**-n for n in range(1, 5)], abs=1e-4) and slopes[12][:8] == slopes[8]
    assert ran.says("takes the row of 4 or 8", "the slopes jump up again")
    assert slopes[6][4] > slopes[6][3] and slopes[12][8] > slopes[12][7]


def test_what_is_longer_than_in_training(ran):
    rows = found(ran, "longer-learn", r"(\w+), (.+?) +(\d+)% +(\d+)% +(\d+)%")
    right = {(task, name): [int(share) for share in shares] for task, name, *shares in rows}
    assert ran.says("RoPE does both tasks almost perfectly, and falls apart beyond the length it knows")
    for task in ("echo", "latest"):
        short, _, long = right[task, "RoPE"]
        assert short > 95 and long < 50
        assert min(right[task, "RoPE, in a window of 32"]) > 90
    assert ran.says("One layer with ALiBi did not learn to echo", "reads sixteen times the length nearly as well")
    assert max(right["echo", "ALiBi"]) < 40
    assert right["latest", "ALiBi"][2] > right["latest", "ALiBi"][0] - 8 and right["latest", "ALiBi"][2] > 85
    assert ran.says("texts of 512, sixteen times as long") and 512 == 16 * 32


def test_first_tokens_beside_a_window_need_places_within_the_cache(ran):
    """With places in the text they make the readers worse than the window alone; within the cache they cost nothing."""
    rows = found(ran, "first-look", r"(the .+?) +(\d+)% +(\d+)%")
    right = {name: [int(share) for share in shares] for name, *shares in rows}
    window, in_the_text, in_the_cache = right.values()
    assert ran.says("make these readers **worse** than a window", "82 % instead of 100 % and 97 %", "100 % and 96 %")
    told = {"window": (100, 97), "in_the_text": (82, 82), "in_the_cache": (100, 96)}
    for shares, said in zip((window, in_the_text, in_the_cache), told.values(), strict=True):
        assert shares == pytest.approx(said, abs=2)
    by_mask = dict(zip(("echo", "latest"), window, strict=True))
    for task, name, *shares in found(ran, "longer-learn", r"(\w+), (.+?) +(\d+)% +(\d+)% +(\d+)%"):
        if name == "RoPE, in a window of 32":
            assert abs(int(shares[-1]) - by_mask[task]) <= 1  # a cache and a mask are two forms of one thing


@pytest.mark.parametrize("seed", [1, 2])
def test_so_they_do_for_other_readers(ran, seed):
    draw = ran.values["draw_texts"]
    for task in ("echo", "latest"):
        torch.manual_seed(seed)
        model = ran.values["Reader"]("RoPE")
        optimiser = torch.optim.AdamW(model.parameters(), lr=0.01)
        for _ in range(200):
            read, wanted = draw(task, 16, 32)
            optimiser.zero_grad()
            F.cross_entropy(model(read)[:, 3:].flatten(0, 1), wanted[:, 3:].flatten()).backward()
            optimiser.step()
        torch.manual_seed(1)
        read, wanted = draw(task, 24, 512)
        share = {
            within: (ran.values["read_by_cache"](model, read, 2, 30, within) == wanted)[:, 256:].float().mean()
            for within in (False, True)
        }
        assert share[True] > 0.93 and share[False] < share[True] - 0.08


def test_what_joining_costs(ran):
    """`torch.cat` for each of 2048 tokens, in one layer of the writer: 2 key heads of 16, keys and values, 4 bytes."""
    each = 2 * 2 * 16 * 4
    assert ran.says("over 2048 tokens, this writer copies 512 MiB in each layer, where writing half a MiB would do")
    assert round(sum(each * length for length in range(1, 2049)) / 2**20) == 512 and each * 2048 == 2**19


def test_blocks_that_are_hidden_may_be_skipped(ran):
    assert ran.says("it makes $(n + 1) / 2n$ of the products, 53 % for 16")
    seen = sum(first <= last for last in range(16) for first in range(16))
    assert seen / 16**2 == 17 / 32 and round(17 / 32, 2) == 0.53
    with torch.no_grad(), ran.values["Meter"]() as whole:
        ran.values["tiled_attention"](*(torch.zeros(1, 1, 1024, 16) for _ in range(3)), 64)
    with torch.no_grad(), ran.values["Meter"]() as causal:
        ran.values["tiled_attention"](*(torch.zeros(1, 1, 1024, 16) for _ in range(3)), 64, True)
    assert ran.says("Your loop makes all of them") and whole.products == causal.products


def test_texts_are_as_they_are_said_to_be(ran):
    draw = ran.values["draw_texts"]
    read, wanted = draw("echo", 5, 40)
    assert torch.equal(wanted[:, 3:], read[:, :-3])
    read, wanted = draw("latest", 50, 40)
    for letters, answers in zip(read.tolist(), wanted.tolist(), strict=True):
        latest = None
        for letter, answer in zip(letters, answers, strict=True):
            latest = letter if letter < 4 else latest
            assert answer == latest
    assert ran.says("a capital comes every six letters") and abs((read < 4).float().mean() - 1 / 6) < 0.05


# --- caps and sinks -------------------------------------------------------------------------------


def test_a_cap_does_what_is_said_of_it(ran):
    rows = {
        int(score): tuple(map(float, numbers))
        for score, *numbers in found(
            ran, "capped-look", r"score +(\d+): capped +(\S+), gradient (\S+); the original +(\S+)"
        )
    }
    assert ran.says("A score of 50 becomes 38", "0.42 at 50, and 0.01 at 150")
    assert round(rows[50][0]) == 38 and rows[50][1] == 0.42 and rows[150][1] == 0.01
    assert ran.says("a large score stays as large as it was", "a negative score becomes positive")
    published = ran.values["published"].detach()
    assert rows[150][2] > 149 and published.min() >= 0 and published[0] > 199
    x, slope = ran.values["many_scores"], ran.values["slope"]
    assert torch.allclose(slope, 1 - torch.tanh(x.detach() / 50) ** 2)


def test_who_finds_nothing(ran):
    left = dict(found(ran, "sink-look", r"(\w+): lse \S+, so (\S+) of its weight is left"))
    assert ran.says("*Professor* and the verbs hardly notice it", "gives most of its weight to it")
    assert float(left["Professor"]) > 0.95 and float(left["who"]) < 0.2
    assert ran.values["with_sink"][[3, 6]].sum(dim=1).min() > 0.95
    (difference,) = found(ran, "sink-look", r"σ\(lse − 4\): (\S+)")
    assert float(difference) < 1e-5


def test_a_sink_learns_to_find_nothing(ran):
    rows = found(ran, "sink-learn", r"(without|with) a sink, +(one|none) is marked: error (\S+), weights sum to (\S+)")
    error = {(name, marked): float(number) for name, marked, number, _ in rows}
    total = {(name, marked): float(number) for name, marked, _, number in rows}
    assert ran.says("the head reports the average of eight secrets", "both errors all but vanish")
    assert error["without", "none"] > 0.08 and error["without", "one"] > 0.005
    assert error["with", "none"] < 0.003 and error["with", "one"] < 0.001
    assert total["without", "none"] == total["without", "one"] == 1
    assert total["with", "none"] < 0.15 and total["with", "one"] > 0.85


# --- in pieces ------------------------------------------------------------------------------------


def test_parts_merge_in_any_order(ran):
    differences = found(ran, "merge-look", r"largest difference from the whole (\S+)")
    assert len(differences) == 3 and all(float(difference) < 1e-12 for difference in differences)
    shares = [float(share) for share in found(ran, "merge-look", r"([\d.]+)% of the weight")]
    assert sum(shares) == pytest.approx(100, abs=0.3) and shares[2] == 0


def test_the_online_table_ends_at_the_softmax(ran):
    (*_, last), right = ran.printed["online-table"].splitlines()[1:5], ran.printed["online-table"].splitlines()[5]
    assert last.split()[-1] == right.split()[-1]
    largest = [row.split()[4] for row in ran.printed["online-table"].splitlines()[1:5]]
    assert ran.says(
        "in the third row all that came before shrinks, since $e^{2 - 4}$ is small", "none, as in the last row"
    )
    assert largest == ["0.5", "2.0", "4.0", "4.0"]
    sums = [row.split()[5] for row in ran.printed["online-table"].splitlines()[1:5]]
    assert ran.says(r"\underbrace{1.953}_{\text{old } l}", "}_{0.135}", r"}_{1.041, \text{ the new block}} = 1.305")
    assert sums[1:3] == ["1.953", "1.305"] and round(1.953 * 0.135 + 1.041, 3) == 1.305


def test_tiles_make_the_largest_tensor_grow_with_the_length(ran):
    whole, tiled = ran.values["largest"]["whole"], ran.values["largest"]["tiled"]
    assert ran.says("Twice the length, four times the largest tensor", "with tiles it only doubles")
    for sizes, factor in ((whole, 4), (tiled, 2)):
        assert all(later == factor * earlier for earlier, later in zip(sizes, sizes[1:], strict=False))
    assert ran.says("The answers, up to rounding, and the products are the same")
    rows = found(ran, "tiled-look", r"products ([\d,]+) and ([\d,]+); largest difference (\S+)")
    assert all(one == other and float(difference) < 1e-5 for one, other, difference in rows)


# --- what is kept ---------------------------------------------------------------------------------


def test_absorbed_costs_more_products_and_keeps_fewer_numbers(ran):
    pattern = r"(forward|absorbed): ([\d,]+) products"
    products = {name: number(counted) for name, counted in found(ran, "latent-look", pattern)}
    assert ran.says("a latent vector that is four times as wide as a head")
    assert ran.says("four times the products in scores and averages on a quarter of the bytes")
    assert products["absorbed"] > products["forward"] and 32 == 4 * 8 and 2 * 8 * 8 == 4 * 32
    (difference,) = found(ran, "latent-look", r"largest difference (\S+)")
    assert float(difference) < 1e-12


def test_published_sizes_make_the_numbers_that_are_said(ran):
    rows = found(ran, "sizes-look", r"(\S.*?): +([\d,]+) bytes per token, +(\S+) GiB for 131,072 tokens")
    held = {name: (number(each), float(gib)) for name, each, gib in rows}
    assert ran.says(
        "A text of 131,072 tokens would take 64 GiB in LLaMA 7B",
        "make that 16, and a window of 4096 on top of that (Mistral) half a GiB",
    )
    assert [held[name][1] for name in ("LLaMA 7B", "Llama 3 8B", "Mistral 7B")] == [64, 16, 0.5]
    assert ran.says("about five times as much as the weights of the model itself")
    assert 64 * 2**30 / (6.7e9 * 2) == pytest.approx(5, abs=0.3)
    assert ran.says("keeps about half of what Llama 3 8B keeps", "nearly twice the layers")
    assert held["DeepSeek-V2"][0] / held["Llama 3 8B"][0] == pytest.approx(0.5, abs=0.05)
    assert ran.says("The two newest keep less than half as much as DeepSeek-V2, 3 and 4 GiB")
    assert [held[name][1] for name in ("gpt-oss-20b", "Qwen3.5-9B")] == [3, 4]
    assert min(held, key=lambda name: held[name][0]) == "Falcon-7B" and ran.says("shares one key among all 71 heads")
    assert 4544 / 64 == 71
    assert "57 times as much" in ran.printed["sizes-look"] and "with 2.25 key heads" in ran.printed["sizes-look"]


def test_the_model_answer_counts_right(ran):
    """Question 8: bytes per token, and GiB of the whole text, of the four kinds."""
    tokens, layers, width, each = 2**17, 48, 128, 2
    multi, grouped = (2 * heads * width * layers * each for heads in (40, 8))
    latent, of_a_layer = 576 * layers * each, 2 * 8 * width * each
    windowed = layers // 6 * of_a_layer
    for answer, gib in ((multi, "120"), (grouped, "24"), (latent, "6.75")):
        assert ran.says(f"{answer:,} bytes per token") and ran.says(f"{gib} GiB")
        assert answer * tokens / 2**30 == float(gib)
    assert ran.says(f"{windowed:,} bytes per token, 4 GiB", "= 160 MiB", "about 4.16 GiB")
    fixed = 40 * of_a_layer * 1024
    assert windowed * tokens == 4 * 2**30 and fixed == 160 * 2**20
    assert (windowed * tokens + fixed) / 2**30 == pytest.approx(4.16, abs=0.005)
    in_gb = [multi * tokens, grouped * tokens, latent * tokens, windowed * tokens + fixed]
    assert ran.says("(128.8, 25.8, 7.2 and 4.5 GB)") and [round(n / 1e9, 1) for n in in_gb] == [128.8, 25.8, 7.2, 4.5]


def test_what_is_done_by_hand(ran):
    """The small examples before the exercises."""
    assert ran.says("holds 3 tokens, and 2 come. So t = 2 and s = 5. The new ones stand at places 3 and 4")
    cached = ran.values["cached_attention"](torch.zeros(1, 1, 2, 5), torch.zeros(1, 1, 5, 5), torch.eye(5)[None, None])
    assert (cached[0, 0] > 0).tolist() == ran.values["sees"] == [[True] * 4 + [False], [True] * 5]
    assert (
        ran.says("A window of 3, with t = 5") and ran.values["sliding_window_mask"](5, 3).tolist() == ran.values["may"]
    )
    assert ran.says("6 heads have those of 4, then 1/2 and 1/8")
    slopes = -ran.values["alibi_bias"](6, 2)[:, 1, 0]
    assert slopes.tolist() == pytest.approx([1 / 4, 1 / 16, 1 / 64, 1 / 256, 1 / 2, 1 / 8])
    assert ran.says("the keys get 1/4 each") and ran.says("to 1 and to 3, and outputs of 4 and 8")
    assert "sum 4, lse ln 4\\noutput 1/4 · 4 + 3/4 · 8 = 7" in ran.texts["merge-picture"]
    sizes, sink = (1, 1, 2, 1), torch.tensor([2.0]).log()
    shares = ran.values["sink_attention"](torch.zeros(1, 1, 1, 1), torch.zeros(sizes), torch.zeros(sizes), sink)[1]
    assert shares.flatten().tolist() == pytest.approx([1 / 4, 1 / 4])
    one, three = torch.tensor([0.0]), torch.tensor([3.0]).log()
    output, lse = ran.values["merge"](torch.tensor([[4.0]]), one, torch.tensor([[8.0]]), three)
    assert output.item() == pytest.approx(7) and lse.exp().item() == pytest.approx(4)


def test_minutes_add_up(ran):
    """The minutes in the headings are those of the overview, and these add up to what it says."""
    rows = re.findall(r"^\| (?!exercise|-|\*\*)(.+?) \|.*\| (\d+) \|$", ran.texts["intro"], re.M)
    *core, alibi, latent = [int(minutes) for _, minutes in rows]
    assert sum(core) == 200 and f"**200, and {alibi + latent} for the last two**" in ran.texts["intro"]
    headings = [re.search(r"· (\d+) minutes ·", text) for text in ran.texts.values()]
    assert [found[1] for found in headings if found] == [minutes for _, minutes in rows]


def test_pictures_can_be_read(ran):
    assert ran.pictures and ran.hard_to_read() == []


def test_heat_maps_that_are_compared_have_one_scale(ran):
    assert not ran.with_cut_bars() and not ran.on_several_scales()
