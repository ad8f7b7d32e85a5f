"""What goes wrong in `generate(model, idx, max_new_tokens, generator=None)`, as edits of the course's own answer."""

from ...mistakes.bank import Bank
from ...mistakes.prices import ALL
from ..families.drawing import mistakes as family
from ..families.wordings import says

BANK = Bank(
    "generate",
    places={
        "START": "was_training = model.training",
        "EVAL": "model.eval()\n    ",
        "TIMES": "range(max_new_tokens)",
        "CONTEXT": "idx[:, -model.block_size :]",
        "LAST": "logits[:, -1]",
        "SOFTMAX": "F.softmax(logits[:, -1], dim=-1)",
        "DRAWN": "torch.multinomial(probabilities, 1, generator=generator)",
        "HANDED": ", generator=generator",
        "JOINED": "torch.cat([idx, following], dim=1)",
        "BACK": "model.train(was_training)\n    ",
        "END": "return idx",
    },
    words={"DRAW": "torch.multinomial", "THESE": "tokens come"},
)
mistake = BANK.mistake

# --- the original and its defects -----------------------------------------------------------------

BANK.released(
    "original-003",
    "This is `generate` as it was given: the length of the context is a global variable, `block_size`, which is not"
    " there (NameError). Once it runs, look at what it unpacks, at the model's mode, at the graph and at chance.",
    "003",
)
mistake(
    "block-size-global",
    "`block_size` is a global variable, which is not there (NameError): every model has its own, `model.block_size`.",
    original="003",
    CONTEXT="idx[:, -block_size:]",
)
mistake(
    "three-things-expected",
    says("three-things-expected"),
    {"logits, _ = model(": "logits, _, _ = model("},
    original="003",
)

# --- what the model sees --------------------------------------------------------------------------

mistake(
    "not-cropped",
    "The whole text goes into the model, which takes `model.block_size` tokens at most: cut off all but the last.",
    CONTEXT="idx",
)
mistake(
    "first-tokens-kept",
    "The model sees the first `block_size` tokens for ever: it should see the last ones, `idx[:, -block_size:]`.",
    CONTEXT="idx[:, : model.block_size]",
)
mistake(
    "context-one-short",
    "The model sees one token fewer than it could: `block_size` of them fit.",
    CONTEXT="idx[:, -max(1, model.block_size - 1) :]",
)
mistake(
    "last-token-alone",
    "The model sees the last token alone: give it the last `block_size` tokens.",
    CONTEXT="idx[:, -1:]",
)
mistake(
    "block-size-a-constant",
    says("block-size-a-constant"),
    CONTEXT="idx[:, -8:]",
)
mistake(
    "one-token-too-many",
    "The model gets one token more than `model.block_size` allows: cut off all but the last `block_size` ones.",
    CONTEXT="idx[:, -model.block_size - 1 :]",
)
mistake(
    "cropped-for-good",
    "The text itself is cut to `block_size` tokens, so its beginning is lost: cut only what goes into the model, under"
    " another name.",
    START="idx = {CONTEXT}\n    {START}",
    JOINED="{JOINED}[:, -model.block_size :]",
)
BANK.variant(
    "cropped-for-good",
    {"logits, _ = model({CONTEXT})": "idx = {CONTEXT}\n            logits, _ = model(idx)"},
)
mistake(
    "cropped-once",
    "Only the prompt is cut, before the first step: the text grows, so cut what the model sees in each step.",
    START="context = {CONTEXT}\n    {START}",
    CONTEXT="context",
    JOINED="{JOINED}\n            context = torch.cat([context, following], dim=1)",
)
mistake(
    "prompt-forgotten",
    "The model sees the new tokens alone and not the prompt.",
    START="t = idx.shape[1]\n    {START}",
    CONTEXT="(idx[:, t:] if idx.shape[1] > t else idx)[:, -model.block_size :]",
)

# --- which logits ---------------------------------------------------------------------------------

mistake(
    "first-position",
    "The logits of the first position are taken: the next token hangs on the last.",
    LAST="logits[:, 0]",
)
mistake(
    "position-before-the-last",
    "The logits are those of the position before the last one, `logits[:, -2]`: take `logits[:, -1]`.",
    LAST="logits[:, -2:][:, 0]",
)
mistake(
    "average-position",
    "The logits of all positions are averaged: the next token hangs on the last position alone.",
    LAST="logits.mean(dim=1)",
)

# --- chance ---------------------------------------------------------------------------------------

mistake(
    "argmax",
    "It always takes the likeliest token: draw one from the softmax, with `torch.multinomial`.",
    DRAWN="probabilities.argmax(dim=-1, keepdim=True)",
)
mistake(
    "uniform",
    "All tokens are equally likely, whatever the logits say.",
    price=ALL,
    SOFTMAX="torch.ones_like(logits[:, -1])",
)
mistake(
    "flattened",
    "The logits are divided by something before the softmax, which makes rare tokens too likely.",
    LAST="logits[:, -1] / 2",
)
mistake(
    "sharpened",
    "The softmax is taken of logits that are too large, or twice as it were: likely tokens come too often.",
    LAST="logits[:, -1] * 2",
)
mistake(
    "temperature-below-one",
    "The logits are divided by a temperature below 1, such as 0.8, so likely tokens come too often: no temperature is"
    " asked for.",
    LAST="logits[:, -1] / 0.8",
)
mistake(
    "temperature-above-one",
    "The logits are divided by a temperature above 1, such as 1.2, so rare tokens come too often: no temperature is"
    " asked for.",
    LAST="logits[:, -1] / 1.2",
)
mistake(
    "top-k",
    "Only the likeliest tokens are drawn from (top-k, nucleus or the like): all of the vocabulary has its chance.",
    SOFTMAX="""{SOFTMAX}
            likeliest = probabilities.topk(min(50, probabilities.shape[-1])).values
            probabilities[probabilities < likeliest[:, -1:]] = 0""",
)
mistake(
    "nucleus",
    "Only the likeliest tokens are drawn from (top-k, nucleus or the like): all of the vocabulary has its chance.",
    SOFTMAX="""{SOFTMAX}
            sorted_ones, order = probabilities.sort(descending=True)
            sorted_ones[sorted_ones.cumsum(-1) - sorted_ones > 0.9] = 0
            probabilities = torch.zeros_like(probabilities).scatter(-1, order, sorted_ones)""",
)
mistake(
    "softmax-missing",
    "`torch.multinomial` is given the logits themselves, and negative ones are an error: draw from their softmax.",
    SOFTMAX="logits[:, -1]",
)
mistake(
    "softmax-twice",
    "The softmax is taken twice: what comes out of the first are probabilities already.",
    SOFTMAX="F.softmax({SOFTMAX}, dim=-1)",
)
mistake(
    "rare-tokens-cut",
    "Tokens that are not among the likeliest are never drawn: all of the vocabulary has its chance.",
    SOFTMAX="""{SOFTMAX}
            likeliest = probabilities.topk(min(3, probabilities.shape[-1])).values
            probabilities[probabilities < likeliest[:, -1:]] = 0""",
)
mistake(
    "softmax-over-batch",
    "The softmax runs over the sequences of the batch: over the vocabulary, `dim=-1`.",
    SOFTMAX="F.softmax(logits[:, -1], dim=0)",
)
mistake(
    "softmax-over-time",
    "The softmax runs over the positions, before the last is taken: it belongs over the vocabulary, `dim=-1`.",
    SOFTMAX="F.softmax(logits, dim=1)[:, -1]",
)
mistake(
    "logits-as-weights",
    "Logits serve as weights without a softmax, made positive somehow: the chances are their softmax.",
    SOFTMAX="logits[:, -1] - logits[:, -1].amin(dim=-1, keepdim=True)",
)
mistake(
    "one-draw-for-all",
    "One random number serves the whole batch, so like prompts go on alike: draw for each sequence by itself.",
    DRAWN="""(probabilities.cumsum(-1) < torch.rand(1, generator=generator)).sum(-1, keepdim=True)
            following = following.clamp(max=probabilities.shape[-1] - 1)""",
)
mistake(
    "first-sequence-for-all",
    "The token that was drawn for the first sequence is given to all of the batch.",
    DRAWN="torch.multinomial(probabilities[:1], 1, generator=generator).expand(len(idx), 1)",
)
mistake(
    "seeded-in-each-step",
    "The generator is seeded in each step, so that every step draws the same numbers: leave its state alone.",
    START="seed = 1337 if generator is None else generator.initial_seed()\n    {START}",
    HANDED=", generator=torch.Generator().manual_seed(seed)",
)
BANK.share(family.SHARED)

# --- what comes back ------------------------------------------------------------------------------

mistake(
    "new-tokens-alone",
    "Only the new tokens come back: the prompt belongs in front of them.",
    START="t = idx.shape[1]\n    {START}",
    END="return idx[:, t:]",
)
mistake(
    "one-too-many",
    "One token too many comes: `max_new_tokens` are asked for.",
    TIMES="range(max_new_tokens + 1)",
)
mistake(
    "one-too-few",
    "One token too few comes: `max_new_tokens` are asked for.",
    TIMES="range(max_new_tokens - 1)",
)
mistake(
    "at-least-one",
    "A token comes even when `max_new_tokens` is 0: then the prompt comes back as it is.",
    TIMES="range(max(1, max_new_tokens))",
)
mistake(
    "length-in-all",
    "`max_new_tokens` is taken for the length of the whole text: it counts the new tokens.",
    TIMES="range(idx.shape[1], max_new_tokens)",
)
mistake(
    "put-in-front",
    "New tokens are put in front of the text: they belong at its end.",
    JOINED="torch.cat([following, idx], dim=1)",
)
mistake(
    "joined-along-the-batch",
    "New tokens are joined as if they were further sequences (`dim=0`): a text grows along dimension 1.",
    JOINED="torch.cat([idx, following], dim=0)",
)
mistake(
    "list-returned",
    says("list-returned", SHAPE="(b, t + max_new_tokens)"),
    END="return idx[0].tolist()",
)
mistake(
    "no-generator-taken",
    "The function takes no `generator` (TypeError): give it that parameter, None by default, and hand it on to"
    " `{DRAW}`.",
    {"max_new_tokens, generator=None": "max_new_tokens"},
    original="003",
    HANDED="",
)
mistake(
    "numbers-not-whole",
    says("numbers-not-whole"),
    END="return idx.float()",
)
mistake(
    "other-whole-numbers",
    says("other-whole-numbers"),
    END="return idx.int()",
)
mistake("pair-returned", "More than the tokens comes back: return them alone.", END="return idx, None")
mistake(
    "batch-of-one",
    "It works for a single sequence only (`.item()`, or a list of tokens): (b, t) holds several.",
    DRAWN="torch.tensor([[{DRAWN}.item()]])",
)
BANK.variant("batch-of-one", START="idx = idx[:1]\n    {START}")
mistake(
    "prompt-overwritten",
    "The prompt that was given is changed: make a new tensor with `torch.cat`.",
    START="prompt = idx\n    {START}",
    END="prompt.copy_(idx[:, -prompt.shape[1] :])\n    return idx",
)

# --- mode and graph -------------------------------------------------------------------------------

mistake(
    "train-mode",
    "The model samples in the mode that it is in, with dropout while it is in train mode: call `model.eval()` first.",
    original="003",
    EVAL="",
)
mistake(
    "left-in-eval",
    "The model stays in eval mode afterwards: put it back into the mode that it was in.",
    BACK="",
)
mistake(
    "always-back-to-train",
    "The model is put into train mode at the end, though it may have been in eval mode: remember `model.training`.",
    BACK="model.train()\n    ",
)
mistake(
    "graph-recorded",
    "Gradients are recorded while sampling, which costs memory for nothing: use `torch.no_grad()`.",
    {"with torch.no_grad():\n        for": "for"},
    original="003",
)
