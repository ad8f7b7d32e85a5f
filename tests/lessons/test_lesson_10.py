"""Lesson 10: what it says of caches that forget, states, gates and tiles, held against what its cells compute."""

import contextlib
import io
import json
import re
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from conftest import ROOT, load
from lessons import lesson, run

from autograder import course

pytestmark = lesson("10")


@pytest.fixture(scope="module")
def ran():
    return run("10")


def found(ran, cell, pattern):
    """The groups of each match in what a cell printed; at least one."""
    groups = re.findall(pattern, ran.printed[cell])
    assert groups, f"{cell} printed no {pattern!r}: {ran.printed[cell]}"
    return groups


def number(text):
    return float(text.replace(",", ""))


# --- the models, and what is kept -----------------------------------------------------------------


def test_the_table_of_models_names_the_exercises_that_models_have(ran):
    rows = re.findall(r"^\| \[.*\| (.*) \|$", ran.texts["now"], re.M)
    named = set("".join(re.findall(r"exercises? ([\d, and]+)", " ".join(rows)))) - set(", and")
    assert len(rows) == 11 and named == {"2", "3", "5"}
    assert ran.says("Exercise 1 comes from serving (2023)", "exercise 6 how a server")
    assert ran.says("Exercise 4 is how attention is trained without keeping its scores")


def test_what_is_said_of_models_in_short_is_in_the_table(ran):
    """Each model of the first table is in the folded one, with the same exercise or lesson."""
    rows = re.findall(r"^\| \[(.*?)\|.*\| (.*) \|$", ran.texts["now"], re.M)
    short = re.findall(r"^\| [a-z].* \| (.*) \| ((?:exercise|lesson) \d+) \|$", ran.texts["now"], re.M)
    assert [where for _, where in short] == ["exercise 2", "exercise 3", "exercise 5", "lesson 09"]
    for models, where in short:
        for model in re.split(", | and ", models):
            here = [found for name, found in rows if re.search(rf"\b{re.escape(model)}\]", name)]
            assert len(here) == 1 and where.split()[1] in re.findall(r"\d+", here[0]), f"{model}: {where}"


def test_the_picture_of_what_is_kept_has_one_square_for_each_number(ran, monkeypatch):
    import matplotlib.pyplot as plt
    from matplotlib.patches import Rectangle

    shown = []
    monkeypatch.setattr(plt, "show", lambda: shown.append(plt.gcf()))
    exec(ran.texts["now-picture"], dict(ran.values))
    squares = [patch for patch in shown[0].axes[0].patches if isinstance(patch, Rectangle)]
    assert len({(round(square.get_width(), 6), round(square.get_height(), 6)) for square in squares}) == 1
    colours = {kind: 0 for kind in ("key", "value", "plain", "score")}
    for square in squares:
        red, green, blue, _ = (round(255 * part) for part in square.get_facecolor())
        (kind,) = [kind for kind in colours if ran.values["COLORS"][kind] == f"#{red:02X}{green:02X}{blue:02X}"]
        colours[kind] += 1
    d = dv = 4  # and one square of each of three kinds in the legend
    assert colours == {
        "key": d * (24 + 10) + 1,
        "value": dv * (24 + 10) + 1,
        "plain": (d + dv) * 14,
        "score": d * dv + 1,
    }
    plt.close("all")


def test_a_configuration_is_read_rightly(ran):
    windows, latent, hybrid = map(json.loads, re.findall(r"^\{[^}]*\}", ran.texts["summary"], re.M))
    assert windows["layer_types"][:2] == ["sliding_attention", "full_attention"]
    assert ran.says("every second layer has a window of 128") and windows["sliding_window"] == 128
    assert ran.says("one latent vector of 512 numbers per token", "an indexer of 64 heads, which picks 2,048 tokens")
    assert (latent["kv_lora_rank"], latent["index_n_heads"], latent["index_topk"]) == (512, 64, 2048)
    assert ran.says("64 heads of 128 that share one key per token", "128 heads of 192")
    assert latent["index_head_dim"] == 128
    assert ran.says("make a third of the products") and 3 * 64 * 128 == 128 * 192
    assert ran.says("three of four layers keep a state") and hybrid["layer_types"].count("linear_attention") == 3
    assert ran.says("an indexer of 4 heads scores groups of 4 tokens")
    assert hybrid["indexer_n_heads"] == hybrid["indexer_compress_ratio"] == 4


# --- a cache that forgets -------------------------------------------------------------------------


def test_kept_tokens_stand_where_it_is_said_they_do(ran):
    """The example by hand: first = 1, window = 3, six tokens; and what comes after the seventh."""
    cache = ran.values["EvictingCache"](1, 3)
    for place in range(6):
        one = torch.full((1, 1, 1, 2), float(place))
        keys, _ = cache.extend(one, one)
    assert ran.says("| token 3 | 3 | 1 |", "| token 5, the new one | 5 | 3 |") and keys[0, 0, :, 0].tolist() == [
        0,
        3,
        4,
        5,
    ]
    keys, _ = cache.extend(one + 1, one + 1)
    assert ran.says("token 3 is dropped, and tokens 4, 5 and 6 stand at 1, 2 and 3")
    assert keys[0, 0, :, 0].tolist() == [0, 4, 5, 6]


def test_the_original_does_what_its_symptoms_say(ran):
    values = dict(ran.values)
    exec(course.original_of(course.solution_of("EvictingCache").source), values)
    torch.manual_seed(0)
    x = torch.randn(1, 9, 12)
    right, wrong = (
        names["GroupedQueryAttention"](12, 2, 1, rope_base=base) for names in (ran.values, values) for base in [50.0]
    )
    wrong.load_state_dict(right.state_dict())
    at_once = wrong(x[:, :6], values["EvictingCache"](1, 3))
    assert ran.says("The outputs of tokens 0 and 1 are NaN", "the triangle leaves the first two nothing")
    assert at_once.isnan().any(dim=2).flatten().tolist() == [True, True, False, False, False, False]
    caches = ran.values["EvictingCache"](1, 3), values["EvictingCache"](1, 3)
    apart = [(right(one, caches[0]) - wrong(one, caches[1])).abs().max() for one in x.split(1, dim=1)]
    assert ran.says("Until the first token is dropped all is right") and max(apart[:4]) < 1e-5 < 1e-3 < min(apart[4:])
    right.rope_base = wrong.rope_base = None
    caches = ran.values["EvictingCache"](1, 3), values["EvictingCache"](1, 3)
    assert ran.says("Without a `rope_base` the outputs are right, one token at a time")
    assert all(torch.allclose(right(one, caches[0]), wrong(one, caches[1]), atol=1e-5) for one in x.split(1, dim=1))


def test_a_prompt_is_not_forgotten(ran):
    rows = found(ran, "evicting-look", r"(the .+?) +(\d+)% +(\d+)% +(\d+)%")
    window, in_the_text, in_the_cache = ([int(share) for share in shares] for _, *shares in rows)
    assert ran.says("both tasks as a whole come out *worse* than with the window alone")
    assert max(in_the_text[0] - window[0], in_the_text[1] - window[1]) < -5
    assert window[0] > 95 and 70 < window[1] < 95
    assert ran.says("21 % of the names are right, no more than by guessing one of four") and window[2] == 21
    assert ran.says("half of the names are right") and 45 < in_the_text[2] < 60
    assert ran.says("the name is said 500 letters later") and min(in_the_cache) > 97


# --- states ---------------------------------------------------------------------------------------


def test_what_is_written_is_added(ran):
    (difference,) = found(ran, "linear-look", r"largest difference (\S+)")
    assert float(difference) < 1e-11
    assert ran.says("The second *red* reads 7, the **sum**") and "[3.0, 5.0, 7.0]" in ran.printed["linear-look"]


def test_the_delta_rule_by_hand(ran):
    key, value = torch.tensor([[1.0, 0.0], [1.0, 0.0]])[None, None], torch.tensor([3.0, 4.0])[None, None, :, None]
    for rule in (ran.values["delta_rule"], ran.values["delta_rule_at_once"]):
        read = [rule(key, key, value, torch.full((1, 1, 2), beta))[0].flatten().tolist() for beta in (1.0, 0.5)]
        assert ran.says("and *red* reads 4", "1.5, then 1.5 + ½ · 2.5 = 2.75") and read == [[3.0, 4.0], [1.5, 2.75]]


def test_both_forms_agree_and_the_state_does_not_grow(ran):
    (difference,) = found(ran, "delta-look", r"largest difference (\S+)")
    assert ran.says("about 1e-14, 1e-8 or 1e-2?", "holds more numbers") and 1e-15 < float(difference) < 1e-12
    assert ran.says("as large after 200 tokens as after 150, while the cache has grown")
    (long, short) = found(ran, "delta-look", r"([\d,]+) in the state, ([\d,]+) in a cache")
    assert long[0] == short[0] and number(long[1]) > number(short[1]) > 10 * number(long[0])


def test_the_delta_rule_overwrites_and_the_others_do_not(ran):
    share = ran.values["latest"]
    assert ran.says("at sixteen times the length, with a state of 16 × 16 numbers") and 512 == 16 * 32
    assert min(share["delta rule"]) > 0.99
    assert ran.says("100 % in all three lengths", "63 to 70 % are right", "(62 to 70 %, and 20 to 21 %)")
    for kind in ("linear attention", "softmax attention"):
        assert 0.61 < share[kind][0] < 0.71 and 0.19 < share[kind][2] < 0.22
    assert ran.values["notebooks"]["delta rule"].key.out_features == 16


def test_the_delta_rule_overwrites_from_another_beginning(ran):
    """Also where it is stuck, as long as queries and keys are made of the whole note."""
    learn, right = ran.values["learn_notes"], ran.values["latest_right"]
    assert ran.says("from seven seeds (0 to 6)") and right(learn("delta rule", seed=6), 512) > 0.99
    values, text = dict(ran.values), ran.texts["notes-learn"].split("\ntry:")[0]
    whole = text.replace("made(name)", "made(x)")
    assert whole != text and ran.says("From seed 6 it is stuck at 42 % in texts of 512")
    exec(whole, values)
    assert 0.3 < values["latest_right"](values["learn_notes"]("delta rule", seed=6), 512) < 0.6


def test_all_notes_of_a_name_have_the_same_key(ran):
    seen = []
    for model in ran.values["notebooks"].values():
        hook = model.key.register_forward_hook(lambda layer, given, made: seen.append(made))
        names = torch.tensor([[3, 5, 3]])
        for values in ([[1, 2, 7]], [[4, 4, 16]]):
            model(names, torch.tensor(values))
        hook.remove()
    assert ran.says("All notes of a name have the same key") and len(seen) == 6
    for one, other in zip(seen[::2], seen[1::2], strict=True):
        assert torch.equal(one, other) and torch.equal(one[0, 0], one[0, 2]) and not torch.equal(one[0, 0], one[0, 1])


def test_what_comes_last_is_asked(ran):
    torch.manual_seed(0)
    names, values, wanted = ran.values["draw_notes"](20, 40)
    for row in range(20):
        latest = {}
        for name, value, answer in zip(names[row].tolist(), values[row].tolist(), wanted[row].tolist(), strict=True):
            if value == 16:
                assert answer == latest.get(name, -100)
            else:
                assert answer == -100
                latest[name] = value


# --- gates ----------------------------------------------------------------------------------------


def test_who_has_nothing_to_find_looks_at_the_start(ran):
    rows = found(ran, "gated-look", r"(a|no) start, (a|no) gate: +(\S+) +(\S+) +(\d+)%")
    seen = {(start, gate): (float(asks), float(not_asks), int(first)) for start, gate, asks, not_asks, first in rows}
    assert ran.says("put **all their weight on the first token**") and seen["a", "no"][2] > 97
    assert ran.says("they report an average of secrets, and those that ask are worse for it, too")
    assert seen["no", "no"][1] > 0.05 and seen["no", "no"][0] > 0.003
    assert ran.says("With a gate both errors are gone") and max(seen["no", "a"][:2]) < 0.002
    assert ran.says("uses the start as well where there is one") and 50 < seen["a", "a"][2] < 99


def test_the_value_of_the_start_is_short_and_always_the_same(ran):
    torch.manual_seed(1)
    asker = ran.values["learn_to_ask"](False, True)
    with torch.no_grad():
        values = asker.layer.W_value(asker.tokens(ran.values["draw_secrets"](500, True)[0]))
    start, others = values[:, 0], values[:, 1:].flatten(0, 1)
    assert ran.says("whose value vector is constant and less than half as long") and torch.equal(
        start, start[:1].expand_as(start)
    )
    assert start[0].norm() < others.norm(dim=1).mean() / 2


def test_a_gate_of_a_half_gives_half(ran):
    layer, x = ran.values["GatedAttention"](8, 2), torch.randn(1, 5, 8)
    with torch.no_grad():
        layer.W_gate.weight.zero_()
    parts = (made(x).unflatten(2, (2, 4)).transpose(1, 2) for made in (layer.W_query, layer.W_key, layer.W_value))
    heads = F.scaled_dot_product_attention(*parts, is_causal=True).transpose(1, 2).flatten(2)
    assert ran.says("the output is half of what multi-head attention gives")
    assert torch.allclose(layer(x), layer.out_proj(heads) / 2, atol=1e-6)


# --- tiles, forward and backward ------------------------------------------------------------------


def test_what_is_kept_and_made(ran):
    rows = found(ran, "flash-look", r"(\d+) +(plain|flash) +(\S+) MiB +([\d,]+) +([\d,]+)")
    seen = {(int(t), name): tuple(map(number, numbers)) for t, name, *numbers in rows}
    times = [seen[t, "plain"][0] / seen[t, "flash"][0] for t in (512, 1024, 2048)]
    assert ran.says("half a MiB in place of 20, a 40th", "10, 20, 40")
    assert times == pytest.approx([10, 20, 40], rel=0.05) and seen[2048, "plain"][0] == pytest.approx(20, abs=0.6)
    assert seen[2048, "flash"][0] == pytest.approx(0.5, abs=0.02)
    (_, forward, backward), (_, forward_flash, backward_flash) = seen[2048, "plain"], seen[2048, "flash"]
    assert ran.says("make 53 % of the products", "$(n + 1) / 2n$ for $n = 16$") and forward_flash / forward == 17 / 32
    assert ran.says("makes four matrix products per tile where forward makes two") and backward == 2 * forward
    assert ran.says("and of 53 % of the tiles: 66 %") and backward_flash / backward == pytest.approx(0.66, abs=0.005)
    assert ran.says("**In all** you make fewer, 62 %")
    assert (forward_flash + backward_flash) / (forward + backward) == pytest.approx(0.62, abs=0.005)
    (difference,) = found(ran, "flash-look", r"largest difference of output and gradients (\S+)")
    assert float(difference) < 1e-4


def test_without_hidden_tiles_there_are_more_products(ran):
    flash = ran.values["forward_and_backward"](lambda *qkv: ran.values["flash_attention"](*qkv, 128)[0], 512)
    plain = ran.values["forward_and_backward"](ran.values["plain_attention"], 512)
    assert ran.says("it would be 7 products per tile against 6: more")
    assert sum(flash[1:3]) * 6 == sum(plain[1:3]) * 7


def test_the_lse_may_stay_float32(ran):
    half = [torch.randn(1, 1, 4, 4, dtype=torch.bfloat16) for _ in range(3)]
    output, lse = ran.values["flash_attention"](*half, 2)
    assert ran.says("the lse may stay float32") and (output.dtype, lse.dtype) == (torch.bfloat16, torch.float32)


def test_tiles_above_the_diagonal_by_hand(ran):
    assert ran.says("There are 4 × 4 tiles, of which 6 lie above the diagonal", "leaves 10 of 16", "53 % for 16")
    assert sum(first > start for start in range(4) for first in range(4)) == 6 and round(17 / 32, 2) == 0.53


# --- few keys ---------------------------------------------------------------------------------------


def test_two_keys_are_enough_if_they_are_the_right_ones(ran):
    few = ran.values["few"]
    assert ran.says("(98 and 93 %, then 100 and 99 %)")
    for task, (one, two) in {"echo": (98, 100), "named": (93, 99)}.items():
        assert 100 * few[task, "all weights"][0] == pytest.approx(one, abs=2)
        assert 100 * few[task, "all weights"][1] == pytest.approx(two, abs=1)
    assert ran.says("as soon as they reach three places back, with four of them")
    assert few["echo", "newest"][1] < 0.2 and few["echo", "newest"][2] > 0.97
    assert ran.says("which a window has only when it holds all 32")
    assert few["named", "newest"][4] < 0.92 < few["named", "newest"][5]
    for task in ("echo", "named"):
        shares = few[task, "chance"]
        assert shares == sorted(shares) and shares[-2] < 0.8


def test_who_is_picked_by_hand(ran):
    index = torch.tensor([0.2, 0.9, 0.1, 0.4, 0.8]).expand(1, 5, 5)
    zeros = torch.zeros(1, 1, 5, 2)
    _, weights = ran.values["indexed_attention"](zeros, zeros, zeros, index, 2)
    assert ran.says("token 3 sees keys 1 and 3") and weights[0, 0, 3].tolist() == [0, 0.5, 0, 0.5, 0]


# --- pages -----------------------------------------------------------------------------------------


def test_pages_by_hand(ran):
    cache, one = ran.values["PagedCache"](8, 4), torch.zeros(1, 1, 1)
    cache.append("a", torch.zeros(1, 6, 1), torch.zeros(1, 6, 1))
    used = [cache.used]
    cache.fork("a", "b")
    used.append(cache.used)
    for text in ("b", "a"):
        cache.append(text, one, one)
        used.append(cache.used)
    assert ran.says("still 2 blocks in use", "writes there: 3 in use", "and 3 stay in use") and used == [2, 2, 3, 3]


def test_pages_are_written_once_and_shared(ran):
    assert "the same eight texts: True" in ran.printed["paged-look"]
    (joined, paged, times) = found(ran, "paged-look", r"([\d,]+) numbers joined, ([\d,]+) in pages: (\d+) times")[0]
    each = 2 * 2 * 16  # keys and values of 2 heads, 16 wide
    assert number(joined) == 8 * sum(range(201, 231)) * each
    assert number(paged) == (200 + 8 * 30 + 8 * 16) * each
    assert ran.says("**Pages write 91 times less:** each token once, and for each answer one copy") and int(times) == 91
    assert (
        ran.says("copy of the prompt's last block, which is half full", "the prompt's 12 full blocks")
        and 200 == 12 * 16 + 8
    )
    (apart, held, blocks, share) = found(
        ran, "paged-look", r"([\d,]+) numbers apart, ([\d,]+) in (\d+) blocks: (\S+) times"
    )[0]
    assert number(apart) == 8 * 230 * each and number(held) == int(blocks) * 16 * each
    assert ran.says("**They hold three times less:**") and float(share) == pytest.approx(3, abs=0.2)
    assert int(blocks) == 12 + 1 + 8 * 3 and 15 * 16 - 230 == 10 and ran.says("room for 10 tokens in each answer")
    assert ran.says("and for 8 in the prompt's own last block") and 13 * 16 - 200 == 8


@pytest.mark.parametrize(
    ("answer", "times"), [("flat_pool", 91), ("heap", 91), ("dict_of_blocks", 91), ("block_objects", 51)]
)
def test_however_pages_are_written_it_is_counted(ran, answer, times):
    """By index, by blocks, by `copy_`; the last one joins keys and values first, which counts as well."""
    answers = Path(course.folder_of("PagedCache")) / "answers"
    values, out = dict(ran.values), io.StringIO()
    exec((answers / f"{answer}.py").read_text(encoding="utf-8"), values)
    with contextlib.redirect_stdout(out):
        exec(ran.texts["paged-look"], values)
    assert f"in pages: {times} times as many" in out.getvalue()
    assert times == 91 or ran.says(f"and {times} times if your cache joins keys and values before it writes them")


# --- drafts ----------------------------------------------------------------------------------------


def test_what_comes_out_by_hand(ran):
    target, draft = torch.tensor([0.5, 0.25, 0.25]), torch.tensor([0.25, 0.5, 0.25])
    _, remainder = ran.values["accept"](target, draft, 1, 0.6)
    assert ran.says("The remainder is (¼, 0, 0) / ¼ = (1, 0, 0)") and remainder.tolist() == [1, 0, 0]
    kept = draft * (target / draft).clamp(max=1)
    assert ran.says("¼ by the draft and ½ · ½ · 1 by the remainder, which is ½", "Token 1 comes with ½ · ½ = ¼")
    assert (kept + (1 - kept.sum()) * remainder).equal(target) and kept.tolist() == [0.25, 0.25, 0.25]


def test_what_comes_out_is_the_targets_and_not_with_a_shortcut(ran):
    rows = found(ran, "accept-look", r"(target's|out|shortcut)\D+((?: +[\d.]+){4})")
    seen = {name: [float(number) for number in numbers.split()] for name, numbers in rows}
    assert ran.says("to the last digit") and seen["out"] == seen["target's"] == [0.5, 0.0625, 0.1875, 0.25]
    assert ran.says("the first token comes with 0.375 in place of ½") and seen["shortcut"][0] == 0.375


def test_a_pass_brings_what_the_series_says(ran):
    for ahead, (letters, share) in ran.values["drafted"].items():
        assert share == pytest.approx(0.8, abs=0.02)
        assert letters == pytest.approx(sum(share**i for i in range(ahead + 1)), rel=0.03)
    assert ran.says("that is 3.36 for $\\alpha$ = 0.8 and $k$ = 4, and 3.3 are measured")
    assert round(sum(0.8**i for i in range(5)), 2) == 3.36
    assert ran.values["drafted"][4][0] == pytest.approx(3.3, abs=0.1)


# --- longer texts ----------------------------------------------------------------------------------


def test_bands_by_hand(ran):
    (table,) = [text for text in ran.texts.values() if "| pair | $\\theta_i$ |" in text]
    rows = re.findall(r"^\| (\d) \| (\S+) \| (\S+) \| (\S+) \| (\S+) \|$", table, re.M)
    assert len(rows) == 4
    for (pair, theta, turns, stays, new), got in zip(
        rows, ran.values["yarn_frequencies"](8, 10000.0, 4.0, 1000).tolist(), strict=True
    ):
        expected = 10000 ** (-2 * int(pair) / 8)
        r = 1000 * expected / (2 * torch.pi)
        right = [expected, r, min(1, max(0, (r - 1) / 31)), got]
        assert [float(x) for x in (theta, turns, stays, new)] == pytest.approx(right, rel=0.005)


def test_turns_are_counted_rightly(ran):
    turns = [32 * 10000 ** (-2 * i / 8) / (2 * torch.pi) for i in range(4)]
    assert ran.says("make 5.1, 0.51, 0.05 and 0.005 turns") and turns == pytest.approx(
        [5.1, 0.51, 0.051, 0.0051], rel=0.01
    )
    assert 4096 / (2 * torch.pi) > 600 and ran.says("turn round hundreds of times")


def test_bands_read_on_and_the_others_do_not(ran):
    further = ran.values["further"]
    for task in ("echo", "named"):
        trained, divided, bands = (further[task, name] for name in ("as trained", "all divided", "in bands"))
        assert trained[1] < 0.5 and max(trained[2:]) < 0.3 and max(divided[1:]) < 0.3
        assert bands[1] > 0.97 and bands[3] == pytest.approx(5 / 6, abs=0.06)
    assert ran.says("still in five of six cases", "guess at four times (one letter of 12 is 8 %)")
    assert max(further["echo", "as trained"][2:] + further["echo", "all divided"][1:]) < 0.12


# --- what every lesson promises -------------------------------------------------------------------


def test_minutes_add_up(ran):
    rows = re.findall(r"^\| (?!exercise|-|\*\*)(.+?) \|.*\| (\d+) \|$", ran.texts["intro"], re.M)
    assert sum(int(minutes) for _, minutes in rows) == 270
    headings = [re.search(r"· (\d+) minutes ·", text) for text in ran.texts.values()]
    assert [found[1] for found in headings if found] == [minutes for _, minutes in rows]


def test_all_musts_are_done_in_the_minutes_that_the_path_says(ran):
    path = re.search(
        r"^\*\*In (\d+) minutes:\*\* the text \((\d+)\) and all \*musts\*, exercises (.+?)\.", ran.texts["intro"], re.M
    )
    promised, text, listed = int(path[1]), int(path[2]), re.findall(r"(\d) \((\d+)\)", path[3])
    heading = r"^## Exercise (\d)[\s\S]*?^\*\*\d+ points · (\d+) minutes · .* · must\*\*$"
    assert listed == [found.groups() for text in ran.texts.values() if (found := re.search(heading, text, re.M))]
    assert promised == text + sum(int(minutes) for _, minutes in listed) <= 150


def test_who_does_not_see_a_diagram_can_read_what_it_shows():
    (name,) = [name for name in course.assignments(ROOT) if name.startswith("10")]
    for folder in ("source", "release", "solutions"):
        cells = load(ROOT / folder / name / f"{name}.ipynb")["cells"]
        drawn = [cell for cell in cells if "diagram" in cell["metadata"].get("tags", [])]
        assert len(drawn) >= 5 and all(len(cell["metadata"].get("alt", "")) > 100 for cell in drawn)


def test_pictures_can_be_read(ran):
    assert ran.pictures and ran.hard_to_read() == []
