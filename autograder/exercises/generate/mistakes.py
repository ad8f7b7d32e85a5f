"""Wrong implementations of `generate(model, idx, max_new_tokens, generator=None)`. Each replaces a step of `right`."""

import torch

from ...mistakes.bank import misconception

# --- the right steps ------------------------------------------------------------------------------


def crop(idx, block_size):
    return idx[:, -block_size:]


def last(logits):
    """(b, t, v) -> (b, v)."""
    return logits[:, -1]


def chances(scores):
    return scores.softmax(-1)


def pick(weights, generator):
    """(b, v) -> (b, 1)."""
    return torch.multinomial(weights, 1, generator=generator)


def append(idx, new):
    return torch.cat([idx, new], dim=1)


def right(
    model,
    idx,
    max_new_tokens,
    generator=None,
    crop=crop,
    last=last,
    chances=chances,
    pick=pick,
    append=append,
    before=lambda model: model.eval(),
    after=lambda model, mode: model.train(mode),
    graph=False,
):
    """Go on with a text, of which any step can be replaced."""
    mode = model.training
    before(model)
    with torch.set_grad_enabled(graph):
        for _ in range(max_new_tokens):
            logits, _ = model(crop(idx, model.block_size))
            idx = append(idx, pick(chances(last(logits)), generator))
    after(model, mode)
    return idx


# --- what the model sees --------------------------------------------------------------------------


@misconception(
    "not-cropped",
    "The whole text goes into the model, which takes `model.block_size` tokens at most: cut off all but the last.",
)
def not_cropped(model, idx, new, generator=None):
    return right(model, idx, new, generator, crop=lambda idx, size: idx)


@misconception(
    "first-tokens-kept",
    "The model sees the first `block_size` tokens for ever: it should see the last ones, `idx[:, -block_size:]`.",
)
def first_tokens_kept(model, idx, new, generator=None):
    return right(model, idx, new, generator, crop=lambda idx, size: idx[:, :size])


@misconception(
    "context-one-short",
    "The model sees one token fewer than it could: `block_size` of them fit.",
)
def context_one_short(model, idx, new, generator=None):
    return right(model, idx, new, generator, crop=lambda idx, size: idx[:, -max(1, size - 1) :])


@misconception(
    "last-token-alone",
    "The model sees the last token alone: give it the last `block_size` tokens.",
)
def last_token_alone(model, idx, new, generator=None):
    return right(model, idx, new, generator, crop=lambda idx, size: idx[:, -1:])


@misconception(
    "block-size-a-constant",
    "The context is cut to a fixed number of tokens: it is `model.block_size` that counts.",
)
def block_size_a_constant(model, idx, new, generator=None):
    return right(model, idx, new, generator, crop=lambda idx, size: idx[:, -8:])


@misconception(
    "cropped-for-good",
    "The text itself is cut to `block_size` tokens, so its beginning is lost: cut only what goes into the model.",
)
def cropped_for_good(model, idx, new, generator=None):
    size = model.block_size
    return right(model, idx[:, -size:], new, generator, append=lambda idx, new: append(idx, new)[:, -size:])


@misconception(
    "cropped-once",
    "Only the prompt is cut, before the first step: the text grows, so cut what the model sees in each step.",
)
def cropped_once(model, idx, new, generator=None):
    head, tail = idx[:, : -model.block_size], idx[:, -model.block_size :]
    return torch.cat([head, right(model, tail, new, generator, crop=lambda idx, size: idx)], dim=1)


@misconception(
    "prompt-forgotten",
    "The model sees the new tokens alone and not the prompt.",
)
def prompt_forgotten(model, idx, new, generator=None):
    t = idx.shape[1]
    return right(
        model,
        idx,
        new,
        generator,
        crop=lambda idx, size: idx[:, max(t, idx.shape[1] - size) :] if idx.shape[1] > t else crop(idx, size),
    )


# --- which logits ---------------------------------------------------------------------------------


@misconception("first-position", "The logits of the first position are taken: the next token hangs on the last.")
def first_position(model, idx, new, generator=None):
    return right(model, idx, new, generator, last=lambda logits: logits[:, 0])


@misconception(
    "position-before-the-last",
    "The logits are those of the position before the last one, `logits[:, -2]`: take `logits[:, -1]`.",
)
def position_before_the_last(model, idx, new, generator=None):
    return right(model, idx, new, generator, last=lambda logits: logits[:, max(-2, -logits.shape[1])])


@misconception(
    "average-position",
    "The logits of all positions are averaged: the next token hangs on the last position alone.",
)
def average_position(model, idx, new, generator=None):
    return right(model, idx, new, generator, last=lambda logits: logits.mean(1))


# --- chance ---------------------------------------------------------------------------------------


@misconception(
    "argmax",
    "It always takes the likeliest token: draw one from the softmax, with `torch.multinomial`.",
)
def argmax(model, idx, new, generator=None):
    return right(model, idx, new, generator, pick=lambda weights, generator: weights.argmax(-1, keepdim=True))


@misconception("uniform", "All tokens are equally likely, whatever the logits say.")
def uniform(model, idx, new, generator=None):
    return right(model, idx, new, generator, chances=torch.ones_like)


@misconception(
    "flattened",
    "The logits are divided by something before the softmax, which makes rare tokens too likely.",
)
def flattened(model, idx, new, generator=None):
    return right(model, idx, new, generator, chances=lambda scores: (scores / 2).softmax(-1))


@misconception(
    "sharpened",
    "The softmax is taken of logits that are too large, or twice as it were: likely tokens come too often.",
)
def sharpened(model, idx, new, generator=None):
    return right(model, idx, new, generator, chances=lambda scores: (scores * 2).softmax(-1))


@misconception(
    "softmax-twice",
    "The softmax is taken twice: what comes out of the first are probabilities already.",
)
def softmax_twice(model, idx, new, generator=None):
    return right(model, idx, new, generator, chances=lambda scores: scores.softmax(-1).softmax(-1))


@misconception(
    "rare-tokens-cut",
    "Tokens that are not among the likeliest are never drawn: all of the vocabulary has its chance.",
)
def rare_tokens_cut(model, idx, new, generator=None):
    def most_likely(scores):
        least = scores.topk(min(3, scores.shape[-1])).values[..., -1:]
        return scores.masked_fill(scores < least, -torch.inf).softmax(-1)

    return right(model, idx, new, generator, chances=most_likely)


@misconception("softmax-over-batch", "The softmax runs over the sequences of the batch: over the vocabulary, `dim=-1`.")
def softmax_over_batch(model, idx, new, generator=None):
    return right(model, idx, new, generator, chances=lambda scores: scores.softmax(0))


@misconception(
    "softmax-over-time",
    "The softmax runs over the positions, before the last is taken: it belongs over the vocabulary, `dim=-1`.",
)
def softmax_over_time(model, idx, new, generator=None):
    return right(
        model, idx, new, generator, last=lambda logits: logits.softmax(1)[:, -1], chances=lambda weights: weights
    )


@misconception(
    "logits-as-weights",
    "Logits serve as weights without a softmax, made positive somehow: the chances are their softmax.",
)
def logits_as_weights(model, idx, new, generator=None):
    return right(model, idx, new, generator, chances=lambda scores: scores - scores.amin(-1, keepdim=True))


@misconception(
    "one-draw-for-all",
    "One random number serves the whole batch, so like prompts go on alike: draw for each sequence by itself.",
)
def one_draw_for_all(model, idx, new, generator=None):
    def shared(weights, generator):
        level = torch.rand(1, generator=generator)
        return (weights.cumsum(-1) < level).sum(-1, keepdim=True).clamp(max=weights.shape[-1] - 1)

    return right(model, idx, new, generator, pick=shared)


@misconception(
    "first-sequence-for-all",
    "The token that was drawn for the first sequence is given to all of the batch.",
)
def first_sequence_for_all(model, idx, new, generator=None):
    return right(
        model, idx, new, generator, pick=lambda weights, generator: pick(weights[:1], generator).expand(len(weights), 1)
    )


@misconception(
    "seeded-in-each-step",
    "The generator is seeded in each step, so that every step draws the same numbers: leave its state alone.",
)
def seeded_in_each_step(model, idx, new, generator=None):
    def again(weights, generator):
        seed = 1337 if generator is None else generator.initial_seed()
        return pick(weights, torch.Generator().manual_seed(seed))

    return right(model, idx, new, generator, pick=again)


@misconception(
    "generator-ignored",
    "`generator` is not used, so that nobody can repeat what was drawn: hand it on to `torch.multinomial`.",
)
def generator_ignored(model, idx, new, generator=None):
    return right(model, idx, new)


@misconception(
    "seed-of-its-own",
    "It seeds torch itself, so the same tokens come whoever asks: seeds are the caller's affair.",
)
def seed_of_its_own(model, idx, new, generator=None):
    torch.default_generator.manual_seed(1337)
    return right(model, idx, new)


@misconception(
    "fixed-without-generator",
    "Without a generator it makes one of a fixed seed, so that the same tokens come each time: pass `None` on instead.",
)
def fixed_without_generator(model, idx, new, generator=None):
    return right(model, idx, new, torch.Generator().manual_seed(1337) if generator is None else generator)


# --- what comes back ------------------------------------------------------------------------------


@misconception("new-tokens-alone", "Only the new tokens come back: the prompt belongs in front of them.")
def new_tokens_alone(model, idx, new, generator=None):
    return right(model, idx, new, generator)[:, idx.shape[1] :]


@misconception("one-too-many", "One token too many comes: `max_new_tokens` are asked for.")
def one_too_many(model, idx, new, generator=None):
    return right(model, idx, new + 1, generator)


@misconception("one-too-few", "One token too few comes: `max_new_tokens` are asked for.")
def one_too_few(model, idx, new, generator=None):
    return right(model, idx, max(0, new - 1), generator)


@misconception(
    "at-least-one",
    "A token comes even when `max_new_tokens` is 0: then the prompt comes back as it is.",
)
def at_least_one(model, idx, new, generator=None):
    return right(model, idx, max(1, new), generator)


@misconception(
    "length-in-all",
    "`max_new_tokens` is taken for the length of the whole text: it counts the new tokens.",
)
def length_in_all(model, idx, new, generator=None):
    return right(model, idx, max(0, new - idx.shape[1]), generator)


@misconception("put-in-front", "New tokens are put in front of the text: they belong at its end.")
def put_in_front(model, idx, new, generator=None):
    return right(model, idx, new, generator, append=lambda idx, new: torch.cat([new, idx], dim=1))


@misconception(
    "numbers-not-whole",
    "The tokens that come back are no whole numbers: they are indices, int64 like the prompt.",
)
def numbers_not_whole(model, idx, new, generator=None):
    return right(model, idx, new, generator).float()


@misconception(
    "other-whole-numbers",
    "The tokens come back in another integer type: keep the prompt's, int64.",
)
def other_whole_numbers(model, idx, new, generator=None):
    return right(model, idx, new, generator).int()


@misconception("pair-returned", "More than the tokens comes back: return them alone.")
def pair_returned(model, idx, new, generator=None):
    return right(model, idx, new, generator), None


@misconception(
    "batch-of-one",
    "It works for a single sequence only (`.item()`, or a list of tokens): (b, t) holds several.",
)
def batch_of_one(model, idx, new, generator=None):
    def single(weights, generator):
        return torch.tensor([[pick(weights, generator).item()]])

    return right(model, idx, new, generator, pick=single)


@misconception(
    "prompt-overwritten",
    "The prompt that was given is changed: make a new tensor with `torch.cat`.",
)
def prompt_overwritten(model, idx, new, generator=None):
    found = right(model, idx, new, generator)
    idx.copy_(found[:, -idx.shape[1] :])
    found[:, : idx.shape[1]] = found[:, : idx.shape[1]].clone()
    return found


# --- mode and graph -------------------------------------------------------------------------------


@misconception(
    "train-mode",
    "The model samples in the mode that it is in, with dropout while it is in train mode: call `model.eval()` first.",
)
def train_mode(model, idx, new, generator=None):
    return right(model, idx, new, generator, before=lambda model: None)


@misconception(
    "left-in-eval",
    "The model stays in eval mode afterwards: put it back into the mode that it was in.",
)
def left_in_eval(model, idx, new, generator=None):
    return right(model, idx, new, generator, after=lambda model, mode: None)


@misconception(
    "always-back-to-train",
    "The model is put into train mode at the end, though it may have been in eval mode: remember `model.training`.",
)
def always_back_to_train(model, idx, new, generator=None):
    return right(model, idx, new, generator, after=lambda model, mode: model.train())


@misconception(
    "graph-recorded",
    "Gradients are recorded while sampling, which costs memory for nothing: use `torch.no_grad()`.",
)
def graph_recorded(model, idx, new, generator=None):
    return right(model, idx, new, generator, graph=True)
