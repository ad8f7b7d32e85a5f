"""Wrong implementations of `load_from_torch(module, mha)`. Each one replaces a step of `right`."""

import torch
from torch import nn

from ...mistakes.bank import misconception
from ..MultiHeadAttention.mistakes import Right

BESIDE = {"MultiHeadAttention": Right}  # what a notebook holds as well

# --- the right steps ------------------------------------------------------------------------------


def parts(mha):
    """Weights and biases for queries, keys, values and the output, None for what is missing."""
    biases = [None] * 3 if mha.in_proj_bias is None else list(mha.in_proj_bias.chunk(3))
    return [*mha.in_proj_weight.chunk(3), mha.out_proj.weight], [*biases, mha.out_proj.bias]


def refuse(layer, bias):
    if layer.bias is None and bias is not None and bias.count_nonzero() > 0:
        raise ValueError("no room for the biases")


def write(layer, name, values):
    """Put numbers into a parameter, in place."""
    with torch.no_grad():
        getattr(layer, name).copy_(values)


def write_bias(layer, bias, write):
    if layer.bias is not None:
        write(layer, "bias", torch.zeros_like(layer.bias) if bias is None else bias)


def right(module, mha, parts=parts, refuse=refuse, write=write, write_bias=write_bias):
    """Copy the weights, of which any step can be replaced."""
    layers = [module.W_query, module.W_key, module.W_value, module.out_proj]
    weights, biases = parts(mha)
    for layer, bias in zip(layers, biases, strict=True):
        refuse(layer, bias)
    for layer, weight, bias in zip(layers, weights, biases, strict=True):
        write(layer, "weight", weight)
        write_bias(layer, bias, write)


# --- what is copied where -------------------------------------------------------------------------


def in_order(order, of=lambda tensor: tensor.chunk(3)):
    """`parts` that takes the three blocks in another order."""

    def parts(mha):
        weights = of(mha.in_proj_weight)
        biases = [None] * 3 if mha.in_proj_bias is None else of(mha.in_proj_bias)
        return (
            [*(weights[i] for i in order), mha.out_proj.weight],
            [*(biases[i] for i in order), mha.out_proj.bias],
        )

    return parts


@misconception("key-comes-first", "`in_proj_weight` holds queries, keys and values in this order: keys are not first.")
def key_comes_first(module, mha):
    right(module, mha, parts=in_order((1, 0, 2)))


@misconception("reversed-blocks", "`in_proj_weight` holds queries, keys and values in this order, not the reverse.")
def reversed_blocks(module, mha):
    right(module, mha, parts=in_order((2, 1, 0)))


@misconception("value-before-key", "Keys and values are swapped: `in_proj_weight` holds queries, keys, values.")
def value_before_key(module, mha):
    right(module, mha, parts=in_order((0, 2, 1)))


@misconception("first-block-thrice", "Queries, keys and values all get the first block: each has a block of its own.")
def first_block_thrice(module, mha):
    right(module, mha, parts=in_order((0, 0, 0)))


@misconception(
    "rows-interleaved",
    "Every third row is taken for each role: the three matrices lie one above the other, in contiguous blocks.",
)
def rows_interleaved(module, mha):
    right(module, mha, parts=in_order((0, 1, 2), of=lambda t: [t[i::3] for i in range(3)]))


@misconception(
    "transposed",
    "The matrices are transposed: nn.Linear and nn.MultiheadAttention both store them as (out, in).",
)
def transposed(module, mha):
    def turned(mha):
        weights, biases = parts(mha)
        return [w.T for w in weights], biases

    right(module, mha, parts=turned)


@misconception(
    "output-projection-forgotten", "The output projection is not copied: its weight and its bias belong to it."
)
def output_projection_forgotten(module, mha):
    right(
        module,
        mha,
        write=lambda layer, name, values: None if layer is module.out_proj else write(layer, name, values),
    )


@misconception("output-bias-forgotten", "The bias of the output projection is not copied.")
def output_bias_forgotten(module, mha):
    right(module, mha, write_bias=lambda layer, b, w: None if layer is module.out_proj else write_bias(layer, b, w))


@misconception("biases-forgotten", "The biases of queries, keys and values are not copied.")
def biases_forgotten(module, mha):
    right(module, mha, write_bias=lambda layer, b, w: write_bias(layer, b, w) if layer is module.out_proj else None)


# --- missing biases, and no room ------------------------------------------------------------------


@misconception(
    "missing-biases-stay",
    "Where the source has no bias, the module keeps its old one: it should become 0.",
)
def missing_biases_stay(module, mha):
    right(module, mha, write_bias=lambda layer, bias, w: None if bias is None else write_bias(layer, bias, w))


@misconception(
    "missing-output-bias-stays",
    "Where the source has no bias, the bias of the module's output projection keeps its old numbers: it should be 0.",
)
def missing_output_bias_stays(module, mha):
    def leave(layer, bias, w):
        if bias is not None or layer is not module.out_proj:
            write_bias(layer, bias, w)

    right(module, mha, write_bias=leave)


@misconception(
    "missing-biases-crash",
    "A source without biases stops it with an error: `in_proj_bias` and `out_proj.bias` are then None.",
)
def missing_biases_crash(module, mha):
    mha.in_proj_bias.chunk(3)
    right(module, mha)


@misconception(
    "biases-dropped-silently",
    "Biases that the module has no room for are dropped without a word: raise a `ValueError`.",
)
def biases_dropped_silently(module, mha):
    right(module, mha, refuse=lambda layer, bias: None)


@misconception(
    "biases-of-zero-refused",
    "Biases of 0 are refused when the module has no room for them: nothing would be lost, so copy the rest.",
)
def biases_of_zero_refused(module, mha):
    def strict(layer, bias):
        if layer.bias is None and bias is not None:
            raise ValueError("no room")

    right(module, mha, refuse=strict)


@misconception(
    "only-one-bias-looked-at",
    "Only the queries' biases are looked at: those of keys and values may have no room as well.",
)
def only_one_bias_looked_at(module, mha):
    def first_only(layer, bias):
        if layer is module.W_query:
            refuse(layer, bias)

    right(module, mha, refuse=first_only)


@misconception(
    "sum-of-biases-looked-at",
    "Only biases with a positive sum are refused: look whether any is not 0.",
)
def sum_of_biases_looked_at(module, mha):
    def positive(layer, bias):
        if layer.bias is None and bias is not None and bias.sum() > 0:
            raise ValueError("no room")

    right(module, mha, refuse=positive)


# --- in place -------------------------------------------------------------------------------------


def replaced(clone, keep=False):
    """A `write` that makes new parameters."""

    def write(layer, name, values):
        old = getattr(layer, name)
        values = values.detach().clone() if clone else values.detach()
        new = nn.Parameter(values.to(old.dtype) if keep else values)
        setattr(layer, name, new.requires_grad_(old.requires_grad) if keep else new)

    return write


@misconception(
    "parameters-replaced",
    "The parameters are replaced by new ones, so that an optimiser which holds the old ones trains nothing: copy into"
    " them with `copy_`.",
)
def parameters_replaced(module, mha):
    right(module, mha, write=replaced(clone=True))


@misconception(
    "parameters-replaced-with-care",
    "The parameters are new objects, though with the right dtype: an optimiser which holds the old ones trains nothing."
    " Copy into them with `copy_`.",
)
def parameters_replaced_with_care(module, mha):
    right(module, mha, write=replaced(clone=True, keep=True))


@misconception(
    "memory-shared",
    "`.data` is set to the source's own tensors: both then share memory, and the dtype may change. Copy the numbers.",
)
def memory_shared(module, mha):
    def share(layer, name, values):
        getattr(layer, name).data = values.detach()

    right(module, mha, write=share)


@misconception(
    "new-parameters-share-memory",
    "New parameters are made around the source's own tensors: both share memory. Copy the numbers with `copy_`.",
)
def new_parameters_share_memory(module, mha):
    right(module, mha, write=replaced(clone=False))


@misconception(
    "dtype-of-the-source",
    "The parameters take on the source's dtype: `copy_` converts the numbers and keeps the parameter's own.",
)
def dtype_of_the_source(module, mha):
    def cast(layer, name, values):
        getattr(layer, name).data = values.detach().clone()

    right(module, mha, write=cast)


@misconception(
    "gradient-switched-on",
    "`requires_grad` is switched on for all parameters: one that was frozen should stay so.",
)
def gradient_switched_on(module, mha):
    right(module, mha)
    module.requires_grad_(True)


@misconception(
    "gradient-switched-off",
    "`requires_grad` is switched off for good, so that nothing trains any more: use `torch.no_grad()` around the copy.",
)
def gradient_switched_off(module, mha):
    module.requires_grad_(False)
    right(module, mha)


@misconception(
    "source-frozen",
    "The source's parameters are frozen: leave `mha` as it is.",
)
def source_frozen(module, mha):
    right(module, mha.requires_grad_(False))


@misconception(
    "source-emptied",
    "The source's weights are changed: leave `mha` as it is.",
)
def source_emptied(module, mha):
    right(module, mha)
    with torch.no_grad():
        mha.out_proj.weight.zero_()


@misconception(
    "copied-with-gradients",
    "The numbers are written while gradients are recorded, which torch refuses for a parameter (RuntimeError): use"
    " `torch.no_grad()`.",
)
def copied_with_gradients(module, mha):
    right(module, mha, write=lambda layer, name, values: getattr(layer, name).copy_(values))


@misconception(
    "wrong-way-round",
    "The module's weights are copied into `mha`: it should be the other way round.",
)
def wrong_way_round(module, mha):
    with torch.no_grad():
        layers = [module.W_query, module.W_key, module.W_value]
        mha.in_proj_weight.copy_(torch.cat([layer.weight for layer in layers]))
        mha.out_proj.load_state_dict(module.out_proj.state_dict(), strict=True)
