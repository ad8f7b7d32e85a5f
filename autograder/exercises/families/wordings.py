"""What students read about mistakes that several exercises have: one sentence for each id.

`{WORD}`s are given where a mistake is written down, or are words of the bank (`mistakes.bank.Bank`).
"""

import re
from collections.abc import Mapping

ASSERTED = "{WHAT} ends in an `AssertionError`: raise a `ValueError`."
BIASED = "The layers have a bias that nobody asked for: make them with `bias=False`."
NONE = (
    "Without a mask `{MASK}` is None, which is used here as if it were a tensor: look whether it is None before"
    " anything is done with it."
)
EXCHANGED = (
    "These are the values you get when `{ONE}` and `{OTHER}` have changed places: keys are what queries are compared"
    " with, and values are what the weights average."
)
MADE_BY_ANOTHER = (
    "These are the values you get when the {ROLE} are made by `{OTHER}`: each role has a layer of its own."
)

SAYS: Mapping[str, str] = {
    "all-dimensions-turned": "`.T` turns all dimensions around, the batch too: swap the last two alone, by"
    " `transpose(-2, -1)` or `.mT`.",
    "always-causal": "These are the values you get when later keys are always hidden: {WHEN}.",
    "always-eight": "The mask is 8 wide whatever t is: make it t wide.",
    "always-eight-heads": "There are eight heads whatever `{NUMBER_OF_HEADS}` says: use the parameter.",
    "always-four-heads": "There are four heads whatever `{NUMBER_OF_HEADS}` says: use the parameter.",
    "always-the-beginning": "Every batch holds the text's beginning: draw starts from all of the text.",
    "and-for-a-mask": "The mask has an `and` in it, of which the interpreter keeps the last part alone: join masks by"
    " `&`, with parentheses around each.",
    "assert-for-valueerror": ASSERTED,
    "assert-instead-of-an-error": ASSERTED,
    "asserted": ASSERTED,
    "attention-made-again": "Queries are cached too, and earlier tokens attend again in each call, though their outputs"
    " are known: the queries of the new tokens alone attend.",
    "base-ignored": "These are the values you get with a base of 10000 whatever `{BASE}` says: use the argument.",
    "bias-everywhere": BIASED,
    "bias-lost-where-nothing-is-left": "Where nothing is left to attend to, the whole output is 0: it is what the"
    " heads find that is 0, and the bias of `out_proj` comes on top of that.",
    "block-size-a-constant": "The length is a fixed number of tokens: it is `model.block_size` that counts.",
    "blocks-averaged": "Each block of keys gets a softmax of its own, and the results are averaged or added up: a"
    " block counts by the sum of its exponentials.",
    "cache-ignored": "The cache plays no part, so each part of a text sees only itself: attend to all keys and"
    " values that are kept.",
    "cache-required": "Without a cache it stops: `cache` may be left out, as in lesson {LESSON}.",
    "causal-by-blocks": "Whole blocks are hidden or seen, so that a token sees all of its own block: within that"
    " block, too, hide what comes after it.",
    "causal-ignored": "These are the values you get when `{CAUSAL}` plays no part: with it, query i sees keys 0 to"
    " i alone.",
    "changed-in-place": "What comes in is changed in place (`*=`, `mul_`, …), and whoever gave it still needs it:"
    " make new tensors.",
    "context-detached": "The context is cut out of the graph (`detach`, `.data`, `no_grad`), so what made it never"
    " learns from here.",
    "detached": "{WHAT} is cut out of the graph (`.detach()`, `.data`, `no_grad`), so that no gradient reaches {WHOM}.",
    "device-from-outside": "A global `device` is used (NameError): take that of {WHAT}.",
    "dropout-added": "Something is dropped in train mode: nobody asked for dropout here.",
    "each-for-itself": "Every gradient is clipped for itself, so the direction of the step changes: all of them"
    " together have one length, and get one factor.",
    "epsilon-in-the-sum": "The exponentials are divided by a little more than their sum, as when a small number is"
    " added to it, so weights sum to less than 1: with the largest score subtracted first, the sum is at least 1 and"
    " needs none.",
    "exp-without-max": "The exponentials overflow for large {SCORED} and vanish for very negative ones: subtract"
    " the largest of each row before `exp`, or use torch's softmax.",
    "exponent-i": "The exponent goes by i/{WIDTH}: it is −2i/{WIDTH}, so that the last pair's comes close to −1.",
    "exponent-without-brackets": "`**` comes before `*` and `/`, so the base gets only a part of its exponent, and that"
    " power is divided: put the whole exponent into brackets, `base ** (-2 * i / {WIDTH})`.",
    "filled-with-zero": "Hidden scores become 0, and e⁰ is 1, so what is hidden still takes part: fill with -inf.",
    "first-block-by-all": "Every program works on the first block: program i begins at {WHERE}.",
    "fixed-dimensions": "`transpose({DIMS})` counts dimensions from the front, so it is right for {MANY} only:"
    " count from the end, `transpose(-2, -1)`.",
    "float32-comes-out": "It returns float32 where another dtype goes in: the result should have the dtype of the"
    " input.",
    "float64-comes-out": "It returns float64 whatever goes in: computing in float64 is fine, but turn the result back.",
    "frequencies-grow": "The frequencies grow from pair to pair: the exponent is negative, base^(−2i/{WIDTH}).",
    "full-length-refused": "{WHAT} is refused: only a longer one is too long.",
    "future-only": "It looks at one thing alone, whether the past changes with the future: nothing else that is"
    " wrong shows, such as the scale.",
    "future-seen": "The past is hidden, and the future is seen: hide what comes after each token.",
    "gate-added": "These are the values you get when the gate is added: multiply by it.",
    "gate-detached": "The gate is cut out of the graph (`detach`, `.data`, `no_grad`), so `W_gate` never learns.",
    "generator-ignored": "`generator` is not used, so that nobody can repeat what was drawn: hand it on to `{DRAW}`.",
    "half-precision": "It is made in half precision, which can't tell far places apart: make it in float32.",
    "heads-reversed": "These are the values you get when the heads come in reversed order: head 0 comes first.",
    "hidden-tokens-set-to-zero": "Hidden tokens are set to 0, and get weight all the same: hide their {SCORED} from"
    " the softmax.",
    "image-mask-ignored": "These are the values you get when `v_mask` plays no part: it hides cells of the image.",
    "indivisible-floored": "Heads that don't divide {ALL} are accepted: raise a `ValueError` with both numbers.",
    "init-without-underscores": "A module has no method `init`: the parent's is called `__init__`, with two"
    " underscores on each side.",
    "input-added": "The input is added to the output: that is what a transformer block does, and nobody asked for"
    " it here.",
    "input-changed": "`{X}` is changed in place (`*=`, `mul_`, …), and whoever gave it still needs it: make a new"
    " tensor.",
    "input-detached": "The input is cut out of the graph (`.detach()`, `.data`, `no_grad` or `torch.tensor`), so"
    " that no gradient reaches it.",
    "inputs-cached": "The inputs are kept, and keys and values of all tokens are made again in each call: keep keys"
    " and values, so that `W_key` and `W_value` see the new tokens alone.",
    "inverted": "True stands where {WHAT}: here True means {MEANS}, so turn it round.",
    "itself-hidden": "Each token is hidden from itself, and the first one sees nothing: hide only what comes after it.",
    "keepdim-forgotten": "A maximum, a sum or a mean loses the dimension that it runs over, so that it meets the"
    " wrong numbers or none: use `keepdim=True`.",
    "keys-and-values-exchanged": EXCHANGED,
    "keys-as-values": "These are the values you get when the weights are applied to the keys: mix the values.",
    "keys-from-queries": MADE_BY_ANOTHER,
    "keys-from-values": MADE_BY_ANOTHER,
    "largest-for-lse": "The largest score stands in the place of the lse: add the logarithm of the sum, m + log l.",
    "largest-of-no-keys": "The largest score of a row is asked for where there are no keys at all: with s = 0 there"
    " is none, and {THEN}.",
    "layer-norms": "`{ONE}` and `{OTHER}` are of another kind, such as `nn.LayerNorm`, which subtracts the mean and"
    " has a bias: here each is your `RMSNorm`.",
    "layers-exchanged": "These are the values you get when `{ONE}` is applied to {FIRST} and `{OTHER}` to {SECOND}.",
    "leading-dimension": "There is a dimension too many: the shape should be {SHAPE}.",
    "list-of-lists": "The {WHAT} is a list of lists: make it a tensor, `torch.tensor(...)`.",
    "list-returned": "A list is returned: return a tensor, {SHAPE}.",
    "loads-not-masked": "The loads have no mask, so they read behind the end.",
    "log-softmax": "These are the logarithms of the weights, as `log_softmax` gives them: take `exp` of them.",
    "loss-summed": "The loss is a sum over tokens: take the mean, so that it does not depend on the batch's size.",
    "lowest-number-in-empty-rows": "A query with nothing left to attend to spreads its weights over all keys, as it"
    " does where hidden scores are a finite number: its weights should be 0.",
    "lse-without-the-largest": "The lse lacks the largest score, which was subtracted before the exponentials were"
    " summed up: it is m + log l.",
    "mask-added-as-a-number": "These are the values you get when the mask is added to the {SCORED} as 0 and 1,"
    " which hides nothing: fill what is hidden with -inf.",
    "mask-added-in-float32": "A mask in float32 is added to the scores, so that the weights are float32 whatever"
    " comes in: use `masked_fill`, which leaves the dtype as it is.",
    "mask-after-softmax": "These are the values you get when the mask is applied to the weights: the share of what"
    " is hidden is lost, and the weights no longer sum to 1. Fill the {SCORED}, before the softmax.",
    "mask-as-a-condition": "An `if` asks whether a whole mask is true (`if {MASK}:`, or compares it as a whole),"
    " which has no answer: ask `if {MASK} is not None:`.",
    "mask-by-indexing": "The scores are indexed by the mask, which does not broadcast: it has to have their very"
    " shape. Use `masked_fill` or `torch.where`, which broadcast.",
    "mask-filled-with-1e9": "Hidden {SCORED} are filled with -1e9 or less, and float16 has no such number: fill with"
    " -inf{AND_WHERE_EMPTY}.",
    "mask-fills-with-ten-thousand": "Hidden {SCORED} are filled with -10,000 or so, which real ones can reach: fill"
    " with -inf{AND_WHERE_EMPTY}.",
    "mask-fills-with-zero": "These are the values you get when hidden {SCORED} become 0 (filled with 0, or"
    " multiplied by the mask): e⁰ is 1, so what is hidden still takes part. Fill with -inf.",
    "mask-learns": "The mask is a parameter, so training would change who sees whom: register it as a buffer.",
    "mask-none-filled": NONE,
    "mask-none-indexed": NONE,
    "mask-none-inverted": NONE,
    "mask-none-unsqueezed": NONE,
    "mask-on-the-cpu": "The mask is made on the CPU: make it on the device of {WHAT}.",
    "mask-of-the-new-tokens": "The causal mask is square, (t, t), as if no keys came before the new tokens: it has a"
    " row for each of these, and a column for each key, (t, s), those of the cache first.",
    "mask-of-zero-times-infinity": "What hides nothing becomes 0 times infinity in this mask, which is NaN; nor is a"
    " mask of numbers asked for, to be added to scores: make it boolean.",
    "masks-exchanged": "The masks have changed places: `v_mask` hides tokens of v, and `q_mask` tokens of q. With n"
    " = t it runs.",
    "masks-ignored": "These are the values you get when the masks play no part: hide what is False in them.",
    "masks-inverted": "These are the values you get when the masks are read the other way round: True means may be"
    " seen.",
    "mean-subtracted": "The mean is subtracted before `exp`: the largest score can still be far above it and"
    " overflow, and one score of -inf makes the mean -inf. Subtract the largest.",
    "merged-without-transposing": "The heads are merged without swapping tokens and heads back first, which mixes"
    " tokens with features.",
    "message-without-numbers": "The `ValueError` for {WHAT} does not hold both numbers: say {BOTH}.",
    "names-of-llama": "The layers have other names than the exercise gives them: they are {NAMES}.",
    "never-divided": "The exponentials are never divided by their sum{HOW}.",
    "never-with-a-mask": "It never calls the candidate with a mask, so it can't see what a candidate makes of one.",
    "no-backward": "No gradients are computed, so the weights never move: call `loss.backward()` before"
    " `optimizer.step()`.",
    "no-mask": "There is no causal mask, so tokens see those that come after them.",
    "no-output-projection": "There is no output projection: what the heads find should go through a Linear layer"
    " `{PROJECTION}`.",
    "no-scale": "These are the values you get without a scale: divide the scores by the root of {WIDTH}.",
    "no-softmax": "There is no softmax, and the {SCORED} themselves serve as weights: make weights of them that sum"
    " to 1.",
    "no-step": "The weights never move: call `optimizer.step()` after {WHAT}.",
    "none-as-a-condition": NONE,
    "none-inverted": NONE,
    "normalised": "These are the values you get when a layer normalisation follows: here nothing does.",
    "normalised-after-rotation": "With `qk_norm` the keys are normalised after their rotation: a norm with weights"
    " belongs before it.",
    "normalised-again": "With `qk_norm` the keys of the cache are normalised again with each call: normalise the"
    " new ones alone.",
    "norms-exchanged": "These are the values you get when `{ONE}` and `{OTHER}` have changed places.",
    "not-causal": "These are the values you get without a causal mask: every token sees the future.",
    "not-divided": "The exponentials serve as weights as they are: divide them by their sum, so that weights sum to 1.",
    "not-itself": "A token does not see itself, and the first one sees nothing (NaN): the triangle is shifted by"
    " one too few.",
    "nothing-left-sees-all": "Where the mask leaves nothing, the mask is dropped and all hidden tokens are seen:"
    " their weights should be 0.",
    "nothing-rescaled": "Nothing is scaled down when a new largest score comes, or the factor is always 1, since"
    " the old largest is overwritten before it is used: both the sum and the output so far are multiplied by exp(old"
    " largest - new largest).",
    "nothing-returned": "Nothing is returned, so what comes back is None: return {WHAT}.",
    "nothing-subtracted": "The exponentials overflow for large scores and vanish for very negative ones: subtract"
    " {LARGEST} before `exp`.",
    "numbers-not-boolean": "The mask holds numbers: make it boolean, with `dtype=torch.bool` or a comparison.",
    "numbers-not-whole": "The tokens that come back are no whole numbers: they are indices, int64 as they came in.",
    "odd-width-asserted": ASSERTED,
    "one-batch-for-all": "The batch is drawn once, above the loop, and used in each step: draw a new one for each.",
    "one-head": "These are the values of one head that is as wide as all together: cut queries, keys and values"
    " into heads.",
    "one-key": "With a single key its weight is 1, whatever the scores are: give the candidate several keys.",
    "one-max-for-all-rows": "The largest of all {SCORED} is subtracted before `exp`, so the exponentials of milder"
    " rows vanish: subtract each row's own largest.",
    "one-norm-for-both": "`{ONE}` and `{OTHER}` are one and the same layer: make two, each with weights of its own.",
    "one-step-ahead": "Each token also sees the next one, the very one that it should guess: the diagonal is the"
    " last place that it may see.",
    "one-step-short": "There is one step too few: as many as `steps` says are asked for.",
    "one-token": "It gives the candidate one token, which has no past, no future and a single weight of 1: take"
    " several.",
    "one-wide": "With a width of 1 its root is 1, so a scale that is missing doesn't show: use more features.",
    "other-dtype": "The {WHAT} come back in another dtype: keep that of what came in.",
    "other-whole-numbers": "The tokens come back in another integer type: keep that of what came in, int64, which"
    " an embedding takes.",
    "output-alone": "It returns the output alone: return the pair `({PAIR})`.",
    "pair-exchanged": "The pair is returned the wrong way round: return ({PAIR}).",
    "pair-swapped": "It returns the pair `({PAIR})`: the output comes first.",
    "pairs-counted-from-1": "The pairs are counted from 1: i starts from 0, so that the first pair turns by the"
    " position itself.",
    "plain-list": "The {WHAT} are in a plain Python list, which hides their parameters: use `nn.ModuleList`.",
    "positions-on-the-cpu": "The positions are made on the CPU, wherever the input lies: `torch.arange(t,"
    " device={X}.device)`.",
    "powers-of-two": "Powers of 2 are taken: a softmax is made of powers of e. With `tl.exp2` multiply the scores"
    " by log2(e) first.",
    "queries-and-keys-exchanged": EXCHANGED,
    "queries-and-values-exchanged": EXCHANGED,
    "queries-from-keys": MADE_BY_ANOTHER,
    "queries-from-values": MADE_BY_ANOTHER,
    "query-and-key-swapped": "These are the values you get when queries and keys change places: rows of the scores"
    " belong to queries, so these come first in the product.",
    "query-changed-in-place": "The query is changed in place (`/=`, `mul_`, …), and whoever gave it still needs it:"
    " make a new tensor.",
    "question-mask-ignored": "These are the values you get when `q_mask` plays no part: it hides words of the"
    " question.",
    "rank-asserted": ASSERTED,
    "rank-not-checked": "Nothing refuses {WHAT}: look at {DIMS} and raise a `ValueError`.",
    "refuses-everything": "It refuses everything, right answers as well: run it on your own {WHAT}, and read what"
    " it raises.{MAY}",
    "renormalised-afterwards": "The weights are masked after the softmax and divided by their sum, which is 0 where"
    " a hidden score is far above the others: fill the scores, before the softmax.",
    "reshaped-for-transposed": "These are the values you get when `view` or `reshape` takes the place of the"
    " transpose, which mixes tokens with features: swap the last two dimensions, `transpose(-2, -1)`.",
    "reshaped-in-one-step": "The heads are cut with one `view` or `reshape`, which mixes tokens with features:"
    " first (b, t, heads, width), then swap the two middle dimensions.",
    "rest-of-the-keys-dropped": "Keys after the last whole block are left out: the last block may be shorter.",
    "returns-a-pair": "`forward` returns more than the output, such as the weights: return the output alone.",
    "returns-nothing": "There is no `return`, so it gives None: return {WHAT}.",
    "scale-by-all-heads": "These are the values you get when scores are divided by the root of the width of all"
    " heads together: it is {WIDTH} that counts.",
    "scale-in-float32": "The scale is a float32 tensor (`torch.sqrt(torch.tensor(…))`), which has too few digits"
    " for float64: divide by a Python number, such as `{K}.shape[-1] ** 0.5`.",
    "scale-without-root": "These are the values you get when scores are divided by {WIDTH} (or both of their"
    " factors by its root): the scores should be divided by its root, once.",
    "shapes-only": "It looks at the shape alone, which nearly all wrong answers have right, or its tolerance is so"
    " large that wrong numbers fit: compare numbers.",
    "shared-by-all-caches": "All caches are one: what is made in the class, or in a default argument, belongs to"
    " every object of it. Make it in `__init__`, and keep it in `self`.",
    "sigmoid-weights": "These are the values you get when weights are made by a sigmoid, each by itself: in a"
    " softmax they compete for a sum of 1.",
    "sizes-left-global": "The constructor lacks parameters, which still come from globals: it should take"
    " {PARAMETERS}, in this order.",
    "softmax-in-float32": "The softmax is computed in float32 whatever comes in, so float64 loses its digits: leave"
    " the dtype as it is.",
    "softmax-left-in-float32": "The weights are float32 whatever comes in, so their product with values of another"
    " dtype is an error: leave the dtype as it is.",
    "softmax-left-in-float64": "The weights are float64 whatever comes in, so their product with values of another"
    " dtype is an error: leave the dtype as it is.",
    "softmax-over-batch": "These are the values you get when the softmax runs over the batch, by `dim=0`, or by no"
    " `dim` where there are three dimensions: the keys are the last one, `dim=-1`.",
    "softmax-over-dim-0": "These are the values you get from a softmax over the sequences of a batch, by `dim=0`"
    " or, for three dimensions, without `dim`: it should run over the last, `dim=-1`.",
    "softmax-over-queries": "These are the values you get when the softmax runs over the queries, so that columns"
    " sum to 1 and not rows: check `dim`, it should be the last.",
    "softmax-without-dim": "`F.softmax` without `dim` runs over the first of three dimensions, and warns of it: say"
    " `dim=-1`, the keys.",
    "squeezed": "`squeeze` drops every dimension of size 1, such as {SUCH}: leave the shape as it is.",
    "store-not-masked": "The store has no mask, so it writes behind the end.",
    "sum-for-lse": "The sum of the exponentials stands in the place of the lse: it is m + log l.",
    "sum-subtracted": "These are the values you get when the sum of the exponentials is subtracted: divide by it.",
    "super-forgotten": "`super().__init__()` is missing, and without it a module cannot work: call it first in"
    " `__init__`.",
    "super-without-brackets": "`super.__init__()` calls the class `super` itself: it is `super().__init__()`, with"
    " brackets after `super`.",
    "three-things-expected": "Three things are unpacked from what the model returns: here it is two, the logits and"
    " the loss.",
    "through-float32": "It computes in float32 whatever comes in, so the digits of float64 are lost: leave the"
    " dtype as it is, or go to float32 only from what is narrower.",
    "transposed": "The weights are transposed: `nn.Linear` keeps them as (outputs, inputs).",
    "triangle-from-the-first-key": "The causal triangle starts at the first key (as with `is_causal=True`): the new"
    " tokens are the last ones, so shift it by the number of keys before them.",
    "turned": "The {WHAT} has the shape {TURNED}: rows are {ROWS}.",
    "upside-down": "Each token sees itself and what comes after it, and the past is hidden: rows are queries, so"
    " the past is the lower triangle (`tril`, not `triu`).",
    "values-from-keys": MADE_BY_ANOTHER,
    "values-from-queries": MADE_BY_ANOTHER,
    "view-of-the-input": "`view` needs a tensor that lies contiguous in memory, and a transposed one, or a piece of"
    " a wider one, does not: use `reshape`, or neither.",
    "weights-detached": "The weights are cut out of the graph (`detach`, `.data`, `no_grad`), so no gradient goes"
    " through them to the scores.",
    "with-biases": BIASED,
    "written-to-x": "The {WHAT} is written to `x_ptr`, where the input lies: write it to `out_ptr`.",
    "zero-input": "{WHAT} 0 everywhere, and so is then what most wrong answers give: draw numbers.",
    "zero-times-infinity": "The mask is multiplied by -inf and added to the {SCORED}, but 0 times infinity is NaN:"
    " use `masked_fill`.",
}


def says(id: str, within: str | None = None, **words: str) -> str:
    """The sentence of a mistake, with these words filled in; the others are left to the bank.

    `within` names the one of several functions that it is about.

    >>> says("upside-down", within="forward")[:36]
    'In `forward`: each token sees itself'
    """
    if unknown := words.keys() - set(re.findall(r"\{([A-Z_]+)\}", SAYS[id])):
        raise ValueError(f"the sentence of {id} has no {', '.join(sorted(unknown))}")
    text = re.sub(r"\{([A-Z_]+)\}", lambda found: words.get(found[1], found[0]), SAYS[id])
    return f"In `{within}`: {text[0].lower()}{text[1:]}" if within else text
