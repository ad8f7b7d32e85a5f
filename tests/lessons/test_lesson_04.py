"""Lesson 04: its sentences against what its cells print and compute."""

import contextlib
import http.server
import io
import json
import re
import threading

import matplotlib.pyplot as plt
import pytest
import torch
from conftest import ROOT
from lessons import NAMES, lesson, run
from torch import nn

pytestmark = lesson("04")


@pytest.fixture(scope="module")
def ran():
    return run("04")


@pytest.fixture(scope="module")
def learnt(ran):
    """The layers that the lesson trains, for three seeds: (layer with one head, layer with two)."""
    return [(ran.values["trained"](1, seed), ran.values["trained"](2, seed)) for seed in (0, 1, 2)]


def crowd(ran):
    return ran.values["crowds"](1000, torch.Generator().manual_seed(99))


def test_the_ages_that_are_told_are_those_printed(ran):
    one, persons, things = re.findall(r"an age of (\d+)", ran.printed["why-heads-demo"])
    assert ran.says(f"{one} mixes persons and things. With {persons} and {things} side by side")
    assert int(things) < int(one) < int(persons)


def test_the_picture_of_cutting_tells_right_from_wrong(ran):
    """Head 0 in the three ways: its block of every token, two tokens mixed, every second feature."""
    two_steps, one_step, every_second = (ran.values[name][0] for name in ("two_steps", "one_step", "every_second"))
    assert two_steps.tolist() == [[0, 1], [10, 11], [20, 21]]
    assert one_step.tolist() == [[0, 1], [2, 3], [10, 11]]
    assert every_second.tolist() == [[0, 2], [10, 12], [20, 22]]


def moved(module, x):
    """How far the outputs are from changing places with the tokens."""
    order = torch.tensor([3, 0, 4, 1, 2])
    return (module(x[:, order]) - module(x)[:, order]).abs().max().item()


def test_what_one_sees_of_the_wide_heads_as_published(ran):
    """With both crashes mended: `tokeys` and `tovalues` have no part, and order matters. Own names mend both."""
    cells = json.loads((ROOT / "source" / NAMES["04"] / f"{NAMES['04']}.ipynb").read_text(encoding="utf-8"))["cells"]
    source = "".join(next(cell for cell in cells if cell["id"] == "wide-solution")["source"])
    original = re.sub("(?m)^# ?", "", source.split("### BEGIN ORIGINAL\n")[1].split("### END ORIGINAL")[0])
    first, inner = original.replace("nn.module", "nn.Module").split("        def forward", 1)
    mended = first + "    def forward" + inner.replace("\n    ", "\n")
    own_names = mended.replace("keys = queries.tr", "keys = keys.tr").replace(
        "values = queries.tr", "values = values.tr"
    )
    assert own_names != mended
    torch.manual_seed(0)
    x = torch.randn(2, 5, 6)
    for code, wrong in ((mended, True), (own_names, False)):
        scope = {"torch": torch, "nn": nn, "F": nn.functional}
        exec(code, scope)
        module = scope["SelfAttentionWide"](6, 3)
        assert (moved(module, x) > 0.01) is wrong and (moved(module, x) < 1e-6) is not wrong
        module(x).sum().backward()
        assert (module.tokeys.weight.grad is None) is wrong and (module.tovalues.weight.grad is None) is wrong
    assert ran.says("the output stays the same. And when tokens change places", "Here other numbers come out.")


def test_the_number_of_heads_does_not_tell_the_order(ran):
    """The myth of the dog and the meat: without a mask, tokens that change places change nothing for the others."""
    torch.manual_seed(0)
    for heads in (1, 2, 4):
        assert moved(ran.values["SelfAttentionWide"](4, heads), torch.randn(1, 5, 4)) < 1e-6


def test_both_layers_learn_with_as_many_parameters(ran):
    assert len(set(re.findall(r"\((\d+) parameters\)", ran.printed["learnt"]))) == 1
    assert ran.says("Both have the same number of parameters")


def test_two_heads_do_what_one_can_not(ran, learnt):
    x, reports = crowd(ran)
    baseline = reports[:, 1:].pow(2).mean().item()
    for one, two in learnt:
        left = ran.values["error_of"](one, x, reports).item() / baseline
        assert 0.4 < left < 0.5  # "nearly half of the baseline's error"
        assert ran.values["error_of"](two, x, reports).item() < 0.005  # "Their error is close to 0."


def test_the_two_heads_divide_the_work(ran, learnt):
    """After the first row each head has nearly all its weight on one kind, and each on another; the single one not."""
    x, _ = crowd(ran)
    for one, two in learnt:
        on_persons = []
        for layer, heads in ((one, 1), (two, 2)):
            weights = torch.stack([ran.values["weights_of"](layer, each, heads) for each in x[:50]])
            on_persons.append((weights * x[:50, None, None, :, 0]).sum(dim=-1)[:, :, 1:])  # (50, heads, 8)
        assert 0.25 < on_persons[0].mean() < 0.75
        persons, things = sorted(on_persons[1].mean(dim=(0, 2)).tolist(), reverse=True)
        assert persons > 0.9 and things < 0.1


def test_more_width_does_not_help_one_head(ran):
    """It lacks not room, but a second row of weights: a head four times as wide is left with as much."""
    x, reports = crowd(ran)
    torch.manual_seed(0)
    wide, generator = ran.values["MultiHeadAttention"](3, 32, 9, 0.0, 1), torch.Generator().manual_seed(0)
    optimiser = torch.optim.Adam(wide.parameters(), lr=0.02)
    for _ in range(200):
        loss = ran.values["error_of"](wide, *ran.values["crowds"](64, generator))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    assert ran.values["error_of"](wide, x, reports).item() > 0.4 * reports[:, 1:].pow(2).mean().item()


def test_rounding_is_called_rounding(ran):
    assert "which is rounding" in ran.printed["load-look"] and "more than rounding" not in ran.printed["mha-look"]


def test_gpt2_has_the_published_size_and_a_forgotten_transposition_gives_no_error(ran):
    in_all, in_attention = re.findall(r"\d+(?:,\d+)+", ran.printed["gpt2-whole"])
    assert ran.says(f"No: {in_all}") and in_all == "124,439,808"
    layer = 4 * (768 * 768 + 768)
    assert int(in_attention.replace(",", "")) == 12 * layer
    assert ran.says("Less than a quarter of them, 28 million") and 28e6 < 12 * layer < 124_439_808 / 4
    assert ran.says("12 heads of width 64") and 768 == 12 * 64
    assert "which is rounding" in ran.printed["load-look"] and "and no error" in ran.printed["load-look"]
    assert int(re.search(r"(\d+)% of the largest", ran.printed["load-look"])[1]) > 50


def gpt2_by_its_formula(idx, file, layers, heads):
    """Logits as OpenAI's program computes them from the tensors of its file, all heads in one product."""

    def norm(x, name):
        return nn.functional.layer_norm(x, x.shape[-1:], file[f"{name}.weight"], file[f"{name}.bias"])

    def conv1d(x, name):
        return x @ file[f"{name}.weight"] + file[f"{name}.bias"]

    x = file["wte.weight"][idx] + file["wpe.weight"][: idx.shape[1]]
    allowed = torch.ones(idx.shape[1], idx.shape[1]).tril()
    for i in range(layers):
        q, k, v = (
            part.unflatten(2, (heads, -1)).transpose(1, 2)
            for part in conv1d(norm(x, f"h.{i}.ln_1"), f"h.{i}.attn.c_attn").chunk(3, dim=2)
        )
        scores = (q @ k.transpose(2, 3) * v.shape[-1] ** -0.5) * allowed - 1e10 * (1 - allowed)
        x = x + conv1d((scores.softmax(dim=3) @ v).transpose(1, 2).flatten(2), f"h.{i}.attn.c_proj")
        hidden = conv1d(norm(x, f"h.{i}.ln_2"), f"h.{i}.mlp.c_fc")
        x = x + conv1d(nn.functional.gelu(hidden, approximate="tanh"), f"h.{i}.mlp.c_proj")
    return norm(x, "ln_f") @ file["wte.weight"].T


def as_safetensors(file):
    """The bytes of a file that holds these tensors."""
    listed, data = {"__metadata__": {"format": "pt"}}, b""
    for name, numbers in file.items():
        begin, data = len(data), data + numbers.numpy().tobytes()
        listed[name] = {"dtype": "F32", "shape": list(numbers.shape), "data_offsets": [begin, len(data)]}
    header = json.dumps(listed).encode()
    header += b" " * (-len(header) % 8)
    return len(header).to_bytes(8, "little") + header + data


def test_a_file_of_gpt2_is_read_and_runs_in_the_students_layer(ran, tmp_path):
    """A small one with random numbers, in the layout and with the names of the published file."""
    d, layers, heads, words, places = 12, 2, 3, 20, 8
    shapes = {"wte.weight": (words, d), "wpe.weight": (places, d), "ln_f.weight": (d,), "ln_f.bias": (d,)}
    for i in range(layers):
        shapes |= {f"h.{i}.ln_{n}.{what}": (d,) for n in (1, 2) for what in ("weight", "bias")}
        sizes = [("attn.c_attn", d, 3 * d), ("attn.c_proj", d, d), ("mlp.c_fc", d, 4 * d), ("mlp.c_proj", 4 * d, d)]
        for name, wide_in, wide_out in sizes:
            shapes |= {f"h.{i}.{name}.weight": (wide_in, wide_out), f"h.{i}.{name}.bias": (wide_out,)}
    torch.manual_seed(0)
    file = {name: torch.randn(shape) for name, shape in shapes.items()}
    path = tmp_path / "model.safetensors"
    path.write_bytes(as_safetensors(file))

    read = ran.values["read_safetensors"](path)
    assert read.keys() == file.keys() and all(torch.equal(read[name], numbers) for name, numbers in file.items())
    model, idx = ran.values["GPT2"](words, places, d, layers, heads), torch.randint(words, (2, 7))
    model.load(read)
    assert torch.allclose(model(idx), gpt2_by_its_formula(idx, file, layers, heads), atol=1e-4)


class Parts(http.server.BaseHTTPRequestHandler):
    """Sends the parts of `content` that are asked for; if it `knows_parts` at all."""

    content, knows_parts, sent, announced = b"", True, 0, None

    def do_GET(self):
        asked = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        asked = asked if self.knows_parts else None
        part = self.content[int(asked[1]) : int(asked[2]) + 1] if asked else self.content
        self.send_response(206 if asked else 200)
        self.send_header("Content-Length", str(self.announced or len(part)))
        self.end_headers()
        with contextlib.suppress(OSError):  # nobody reads the whole file
            self.wfile.write(part)
        type(self).sent += len(part)

    def log_message(self, *_):
        pass


@pytest.fixture
def distant(ran, monkeypatch):
    """Block 0 of a made-up GPT-2, at the address from which the lesson fetches it: (its tensors, the handler)."""
    torch.manual_seed(0)
    d, words, places = 768, 29000, 12
    shapes = {"wte.weight": (words, d), "wpe.weight": (places, d)}
    shapes |= {"h.0.attn.c_attn.weight": (d, 3 * d), "h.0.attn.c_attn.bias": (3 * d,)}
    shapes |= {"h.0.attn.c_proj.weight": (d, d), "h.0.attn.c_proj.bias": (d,)}
    file = {name: 0.02 * torch.randn(shape) for name, shape in shapes.items()}
    file |= {"h.0.ln_1.weight": torch.rand(d), "h.0.ln_1.bias": torch.randn(d)}
    handler = type("Handler", (Parts,), {"content": as_safetensors(file)})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setitem(ran.values, "address", f"http://127.0.0.1:{server.server_port}/model.safetensors")
    yield file, handler
    server.shutdown()
    server.server_close()


def run_again(ran, cell, capsys):
    """What a cell prints with the names as they are; its address stays that of the test's server."""
    text = re.sub(r"(?m)^address = .*\n", "", ran.texts[cell])
    exec(compile(text, cell, "exec"), ran.values)
    return capsys.readouterr().out


def test_a_block_of_gpt2_is_fetched_in_parts(ran, distant, capsys):
    file, handler = distant
    printed = run_again(ran, "gpt2-real", capsys)
    assert float(re.search(r"largest difference: (\S+)", printed)[1]) < 1e-5
    assert ran.says("about 10 MB of 550") and 9e6 < handler.sent < 11e6 < len(handler.content)
    idx = ran.values["words_of_gpt2"]
    x = nn.functional.layer_norm(
        file["wte.weight"][idx] + file["wpe.weight"][:9], (768,), file["h.0.ln_1.weight"], file["h.0.ln_1.bias"]
    )
    assert torch.equal(ran.values["x"][0], x)
    queries, keys, _ = (x @ file["h.0.attn.c_attn.weight"] + file["h.0.attn.c_attn.bias"]).chunk(3, dim=1)
    scores = queries[:, 640:704] @ keys[:, 640:704].T / 8 + torch.full((9, 9), -torch.inf).triu(1)
    assert torch.allclose(ran.values["seen"][10], scores.softmax(dim=1), atol=1e-5)
    figure = plt.gcf()
    assert figure.get_figwidth() <= 12 and len(figure.axes) == 12
    plt.close("all")


def test_a_server_that_sends_whole_files_and_no_network_at_all_are_told(ran, distant, capsys):
    _, handler = distant
    handler.knows_parts = False
    assert "can't be fetched here (the server sends the whole file" in run_again(ran, "gpt2-real", capsys)
    assert "can't be fetched here (tests have no network)" in ran.printed["gpt2-real"]


def test_all_of_gpt2_is_fetched_once_and_by_halves_never(ran, distant, tmp_path):
    _, handler = distant
    folder = tmp_path / "gpt2"
    ran.values["download"](folder)
    assert {path.name for path in folder.iterdir()} == {"model.safetensors", "vocab.json"}
    assert (folder / "model.safetensors").read_bytes() == handler.content
    handler.sent = 0
    ran.values["download"](folder)
    assert handler.sent == 0
    (folder / "vocab.json").unlink()
    handler.content, handler.announced = handler.content[:1000], 2000  # the line is cut half-way
    with pytest.raises(OSError):
        ran.values["download"](folder)
    assert not (folder / "vocab.json").exists()


def matmuls(d, h, t):
    """Multiplications of one layer, product by product: (the four projections, the scores and the mix)."""
    w = d // h
    return 4 * (t * d * d), h * (t * w * t) + h * (t * t * w)


def test_the_model_answer_on_the_cost_of_a_layer_is_right(ran):
    """Its formulas, where one overtakes the other, what doubles, and GPT-2's numbers."""
    said = ran.texts["question-layer-cost"]
    assert r"$4 \cdot t \cdot d^2$ and $2 \cdot t^2 \cdot d$" in said and "$t > 2d$" in said
    for d, h, t in ((768, 12, 1024), (96, 2, 50), (96, 8, 100)):
        projections, scores_and_mix = matmuls(d, h, t)
        assert (projections, scores_and_mix) == (4 * t * d**2, 2 * t**2 * d) == matmuls(d, 2 * h, t)
        assert matmuls(d, h, 2 * t) == (2 * projections, 4 * scores_and_mix)
    costs_more = [t for t in range(1500, 1600) if matmuls(768, 12, t)[1] > matmuls(768, 12, t)[0]]
    assert costs_more[0] == 1537 and "from 1537 tokens on; at 1536 both cost the same" in said
    projections, scores_and_mix = matmuls(768, 12, 1024)
    assert f"{projections:,} multiplications" in said and f"mix {scores_and_mix:,}, two thirds" in said
    assert 3 * scores_and_mix == 2 * projections
    weights = torch.empty(12, 1024, 1024, dtype=torch.float32, device="meta")
    assert f"{weights.numel() * weights.element_size():,} bytes, about 50 MB" in said and 48 * 2**20 == 50_331_648
    assert "$t^2 \\cdot d$ for scores and mix, about, and $t > 4d$" in said  # who counts the allowed half


@pytest.mark.parametrize("fused", [False, True])
def test_torch_counts_the_cost_that_the_question_asks_for(ran, monkeypatch, capsys, fused):
    """In 2 FLOPs for a multiplication; in a layer that calls torch's own attention as well."""
    printed = ran.printed["layer-cost-look"]
    if fused:
        monkeypatch.setitem(ran.values, "MultiHeadAttention", Fused)
        exec(compile(ran.texts["layer-cost-look"], "layer-cost-look", "exec"), dict(ran.values))
        printed = capsys.readouterr().out
    rows = [[int(number.replace(",", "")) for number in line.split()] for line in printed.splitlines()[1:]]
    assert len(rows) == 4 and {row[0] for row in rows}.isdisjoint({768})  # other sizes than the question's
    for d, h, t, *counted in rows:
        assert counted == [2 * number for number in matmuls(d, h, t)]
    assert ran.says("that is 2 **FLOPs**", "takes $m \\cdot n \\cdot p$ of them")


class Fused(nn.Module):
    """A right `MultiHeadAttention` by torch's own attention, which is one step for a CPU."""

    def __init__(self, d_in, d_out, context_length, dropout, num_heads):
        super().__init__()
        self.heads, self.out_proj = num_heads, nn.Linear(d_out, d_out)
        self.W_query, self.W_key, self.W_value = (nn.Linear(d_in, d_out, bias=False) for _ in range(3))

    def forward(self, x):
        parts = [
            to(x).unflatten(2, (self.heads, -1)).transpose(1, 2) for to in (self.W_query, self.W_key, self.W_value)
        ]
        found = nn.functional.scaled_dot_product_attention(*parts, is_causal=True)
        return self.out_proj(found.transpose(1, 2).flatten(2))


def test_pictures_can_be_read(ran):
    assert ran.pictures and ran.hard_to_read() == []
    assert not ran.with_cut_bars() and not ran.on_several_scales()


# --- the riddle of lesson 01 ------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_two_layers_solve_the_riddle_and_one_does_not(ran, seed):
    with contextlib.redirect_stderr(io.StringIO()):  # the progress bar
        learnt = {name: ran.values["learn_the_riddle"](name, seed) for name in ran.values["LEARNERS"]}
    assert ran.says("its error stayed near 0.5, half of the baseline of 1")
    assert learnt["one layer"][1] == pytest.approx(0.5, abs=0.05)
    assert learnt["two layers"][1] < 0.01
    assert ran.says("The causal layers are two as well, and fail")
    assert learnt["two causal layers"][1] == pytest.approx(0.5, abs=0.05)
    tired, wide = ran.values["weights_of_it"](learnt["two layers"][0])
    animal, street = ran.values["ANIMAL"], ran.values["STREET"]
    assert min(tired[animal], wide[street]) > 0.95 and max(tired[street], wide[animal]) < 0.05


# --- the storyteller ------------------------------------------------------------------------------


def test_a_head_of_the_storyteller_looks_at_whoever_is_meant(ran):
    (layer, head), looked = (ran.values["LAYER"], ran.values["HEAD"]), []
    assert (layer, head) == (3, 4)
    for text, answer in zip(ran.values["riddles"], ("animal", "street"), strict=True):
        words = ran.values["words_of"](text)
        weights = ran.values["read"](words)[1]
        looked.append(weights)
        assert weights[layer - 1, head - 1, -1, words.index(answer)] > 0.95
        ((likeliest, share),) = ran.values["next_words"](text, most=1)
        assert likeliest == answer and share > 0.99
    it = words.index("it")
    assert ran.says("at *it* no head can know") and torch.equal(looked[0][:, :, : it + 1], looked[1][:, :, : it + 1])


def test_what_cutting_heads_costs(ran):
    rows = re.findall(r"^(nothing|\w+ .*?) {2,}(\d+) +(\d+)$", ran.printed["storyteller-cut"], re.MULTILINE)
    left = {name: (int(tired), int(wide)) for name, tired, wide in rows}
    assert len(left) == 15 and min(left["nothing"]) >= 49
    assert ran.says("Without head 4 of layer 3 only 17 of 50 survive", "without it all 50 survive", "and 4 are left")
    assert left["layer 3, head 4"] == (17, 50) and left["layer 3, heads 3 and 4"][1] == 4
    assert ran.says("Without it 7 and 26 of 50 are left, and no other head hurts both")
    single = {name: both for name, both in left.items() if re.fullmatch(r"layer \d, head \d", name)}
    assert single.pop("layer 1, head 4") == (7, 26) and {wide for _, wide in single.values()} == {50}


def test_the_head_that_matters_most_looks_at_the_adjective_or_the_verb(ran):
    assert ran.says("looks at the adjective if it is one like *tired*, and at *cross* if it is one like *wide*")
    for text, seen in zip(ran.values["riddles"], ("tired", "cross"), strict=True):
        words = ran.values["words_of"](text)
        assert ran.values["read"](words)[1][0, 3, -1, words.index(seen)] > 0.8


def test_a_sentence_in_other_words_is_refused_with_those_that_it_knows(ran):
    with pytest.raises(ValueError, match="not in its language: elephant. Its words are: .* animal "):
        ran.values["words_of"]("The elephant didn't cross the street")


def test_the_table_of_heads_can_be_read_where_no_script_runs(ran):
    """Its cells hold the weights from the last word; a script only exchanges them."""
    words = ran.values["words_of"](ran.values["my_sentence"])
    page = ran.values["heads_by_words"](words, ran.values["read"](words)[1], "name")
    still = page.partition("<script>")[0]
    assert still.count("<tr>") == 1 + 12 and still.count("<td") == 12 * len(words) and 'tabindex="0"' in still
    assert "layer 3, head 4" in still and "(start)" in still and "<s>" not in still


def test_three_heads_of_gpt2_do_what_is_said_of_them(ran):
    """Their weights are stored in whole percent: each row sums to 1 but for that, and none looks ahead."""
    copies, before, next_last_time = ran.values["gpt2_heads"].values()
    words = ran.values["SENTENCE"]
    first, second = (at for at, word in enumerate(words) if word == "dog")
    for weights in (copies, before, next_last_time):
        assert (weights.triu(1) == 0).all()
        assert (weights.sum(1) - 1).abs().max() < 0.005 * len(words)
    assert copies[second, first] == torch.tensor(0.55)
    assert (before.diagonal(-1) > 0.99).all()
    assert words[first + 1] == "on" and next_last_time[second, first + 1] == torch.tensor(0.85)
    sink = next_last_time[:, 0]
    assert (sink > 0.5).sum() == len(words) - 1 and sink[second] < 0.2
    for said in (
        "the second *dog* gives the first 0.55",
        "whatever it is: 1.00",
        "the second *dog* gives 0.85 to *on*",
    ):
        assert ran.says(said)
