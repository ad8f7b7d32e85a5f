"""What goes wrong in `load_from_torch(module, mha)`, as edits of the course's own answer."""

from ...mistakes.bank import Bank
from ..families.wordings import says

BANK = Bank(
    "load_from_torch",
    places={
        "START": "layers = ",
        "LAYERS": "[module.W_query, module.W_key, module.W_value]",
        "WEIGHTS": "mha.in_proj_weight.chunk(3)",
        "BIASES": "[None] * 3 if mha.in_proj_bias is None else mha.in_proj_bias.chunk(3)",
        "CHUNKS": "mha.in_proj_bias.chunk(3)",
        "OUT": ", (module.out_proj, mha.out_proj.weight, mha.out_proj.bias)]",
        "REFUSE": "for layer, _, bias in pairs:",
        "NO_ROOM": "if layer.bias is None and bias is not None and bias.count_nonzero() > 0:",
        "NOT_ZERO": "bias.count_nonzero() > 0",
        "NO_GRAD": "@torch.no_grad()  # torch refuses to write into a parameter while it records gradients\n    ",
        "WRITE_WEIGHT": "write(layer.weight, weight)",
        "HAS_BIAS": "if layer.bias is not None:",
        "WRITE_BIAS": "write(layer.bias, bias)",
    },
    words={"BIAS": "(torch.zeros_like(layer.bias) if bias is None else bias)"},
    beside=("MultiHeadAttention",),
)
mistake = BANK.mistake

# --- what is copied where -------------------------------------------------------------------------

mistake(
    "key-comes-first",
    "`in_proj_weight` holds queries, keys and values in this order: keys are not first.",
    LAYERS="[module.W_key, module.W_query, module.W_value]",
)
mistake(
    "reversed-blocks",
    "`in_proj_weight` holds queries, keys and values in this order, not the reverse.",
    LAYERS="[module.W_value, module.W_key, module.W_query]",
)
mistake(
    "value-before-key",
    "Keys and values are swapped: `in_proj_weight` holds queries, keys, values.",
    LAYERS="[module.W_query, module.W_value, module.W_key]",
)
mistake(
    "first-block-thrice",
    "Queries, keys and values all get the first block: each has a block of its own.",
    WEIGHTS="{WEIGHTS}[:1] * 3",
    CHUNKS="{CHUNKS}[:1] * 3",
)
mistake(
    "rows-interleaved",
    "Every third row is taken for each role: the three matrices lie one above the other, in contiguous blocks.",
    WEIGHTS="[mha.in_proj_weight[i::3] for i in range(3)]",
    CHUNKS="[mha.in_proj_bias[i::3] for i in range(3)]",
)
mistake(
    "transposed",
    says("transposed"),
    WRITE_WEIGHT="write(layer.weight, weight.T)",
)
mistake(
    "output-projection-forgotten",
    "The output projection is not copied: its weight and its bias belong to it.",
    OUT="]",
)
mistake(
    "output-bias-forgotten",
    "The bias of the output projection is not copied.",
    HAS_BIAS="if layer.bias is not None and layer is not module.out_proj:",
)
mistake(
    "biases-forgotten",
    "The biases of queries, keys and values are not copied.",
    HAS_BIAS="if layer is module.out_proj:",
)

# --- missing biases, and no room ------------------------------------------------------------------

mistake(
    "missing-biases-stay",
    "Where the source has no bias, the module keeps its old one: it should become 0.",
    HAS_BIAS="if layer.bias is not None and bias is not None:",
)
mistake(
    "missing-output-bias-stays",
    "Where the source has no bias, the bias of the module's output projection keeps its old numbers: it should be 0.",
    HAS_BIAS="if layer.bias is not None and (bias is not None or layer is not module.out_proj):",
)
mistake(
    "missing-biases-crash",
    "A source without biases stops it with an error: `in_proj_bias` and `out_proj.bias` are then None.",
    BIASES="{CHUNKS}",
)
mistake(
    "biases-dropped-silently",
    "Biases that the module has no room for are dropped without a word: raise a `ValueError`.",
    NO_ROOM="if False:",
)
mistake(
    "biases-of-zero-refused",
    "Biases of 0 are refused when the module has no room for them: nothing would be lost, so copy the rest.",
    NO_ROOM="if layer.bias is None and bias is not None:",
)
mistake(
    "only-one-bias-looked-at",
    "Only the queries' biases are looked at: those of keys and values may have no room as well.",
    REFUSE="for layer, _, bias in pairs[:1]:",
)
mistake(
    "sum-of-biases-looked-at",
    "The sum of the biases is looked at, and it can be 0 or below where they are not: look whether any is not 0.",
    NOT_ZERO="bias.sum() > 0",
)
BANK.variant("sum-of-biases-looked-at", NOT_ZERO="bias.sum() != 0")

mistake(
    "error-of-another-type",
    "Biases that the module has no room for stop with an error, but of another type: raise a `ValueError`.",
    {"raise ValueError(": "raise RuntimeError("},
)
mistake(
    "small-biases-dropped",
    "Small biases count as 0 here, and are dropped where there is no room for them: only what is exactly 0 may be.",
    NOT_ZERO="bias.abs().max() > 1e-3",
)

# --- in place -------------------------------------------------------------------------------------

mistake(
    "parameters-replaced",
    "The parameters are replaced by new ones, so that an optimiser which holds the old ones trains nothing: copy into"
    " them with `copy_`.",
    WRITE_WEIGHT="layer.weight = nn.Parameter(weight.detach().clone())",
    WRITE_BIAS="layer.bias = nn.Parameter({BIAS}.detach().clone())",
)
mistake(
    "parameters-replaced-with-care",
    "The parameters are new objects, so an optimiser that holds the old ones trains nothing, even where their dtype is"
    " right: copy into them with `copy_`.",
    WRITE_WEIGHT="layer.weight = nn.Parameter(weight.detach().clone().to(layer.weight), layer.weight.requires_grad)",
    WRITE_BIAS="layer.bias = nn.Parameter({BIAS}.detach().clone().to(layer.bias), layer.bias.requires_grad)",
)
mistake(
    "memory-shared",
    "`.data` is set to the source's own tensors: both then share memory, and the dtype may change. Copy the numbers.",
    WRITE_WEIGHT="layer.weight.data = weight.detach()",
    WRITE_BIAS="layer.bias.data = {BIAS}.detach()",
)
mistake(
    "new-parameters-share-memory",
    "New parameters are made around the source's own tensors: both share memory. Copy the numbers with `copy_`.",
    WRITE_WEIGHT="layer.weight = nn.Parameter(weight.detach())",
    WRITE_BIAS="layer.bias = nn.Parameter({BIAS}.detach())",
)
mistake(
    "dtype-of-the-source",
    "The parameters take on the source's dtype: `copy_` converts the numbers and keeps the parameter's own.",
    WRITE_WEIGHT="layer.weight.data = weight.detach().clone()",
    WRITE_BIAS="layer.bias.data = {BIAS}.detach().clone()",
)
mistake(
    "gradient-switched-on",
    "`requires_grad` is switched on for all parameters: one that was frozen should stay so.",
    WRITE_BIAS="{WRITE_BIAS}\n    module.requires_grad_(True)",
)
mistake(
    "gradient-switched-off",
    "`requires_grad` is switched off for good, so that nothing trains any more: use `torch.no_grad()` around the copy.",
    START="module.requires_grad_(False)\n    {START}",
)
mistake(
    "source-frozen",
    "The source's parameters are frozen: leave `mha` as it is.",
    START="mha.requires_grad_(False)\n    {START}",
)
mistake(
    "source-emptied",
    "The source's weights are changed: leave `mha` as it is.",
    WRITE_BIAS="{WRITE_BIAS}\n    mha.out_proj.weight.data.zero_()",
)
mistake(
    "copied-with-gradients",
    "The numbers are written while gradients are recorded, which torch refuses for a parameter (RuntimeError): use"
    " `torch.no_grad()`.",
    NO_GRAD="",
)
mistake(
    "wrong-way-round",
    "The module's weights are copied into `mha`: it should be the other way round.",
    WRITE_WEIGHT="write(weight.detach(), layer.weight)",
    WRITE_BIAS="write(bias.detach(), layer.bias)",
)
mistake(
    "output-layer-taken-over",
    "The module's `out_proj` is replaced by the source's own layer, so both train the same one: copy its numbers.",
    OUT="]\n    module.out_proj = mha.out_proj",
)
mistake(
    "digits-lost",
    "The numbers go through float32 on their way, which costs float64 its digits: `copy_` converts them by itself.",
    {"parameter.copy_(numbers)": "parameter.copy_(numbers.float())"},
)
mistake(
    "set-to-eval",
    "The module is set to eval mode, in which it then stays: copying numbers needs no mode.",
    START="module.eval()\n    {START}",
)
mistake(
    "source-set-to-eval",
    "The source is set to eval mode, in which it then stays: leave `mha` as it is.",
    START="mha.eval()\n    {START}",
)
mistake(
    "separate-weights-expected",
    "`q_proj_weight`, `k_proj_weight` and `v_proj_weight` are None here: the weights are the three blocks of"
    " `in_proj_weight`.",
    {"parameter.zero_() if numbers is None else ": ""},
    WEIGHTS="(mha.q_proj_weight, mha.k_proj_weight, mha.v_proj_weight)",
)
mistake(
    "not-cut-into-blocks",
    "The whole of `in_proj_weight` is copied into each layer, where only a third of it fits: `chunk(3)` cuts it.",
    WEIGHTS="[mha.in_proj_weight] * 3",
)
BANK.rewritten(
    "state-dict-by-name",
    "Only the numbers of `out_proj` arrive, as with `load_state_dict(…, strict=False)`, which skips all names that"
    " differ: cut `in_proj_weight` into three, and copy the blocks.",
    """
def load_from_torch(module, mha):
    module.load_state_dict(mha.state_dict(), strict=False)
""",
)
