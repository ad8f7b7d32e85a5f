"""What goes wrong in `interleaved_to_halves(weight, num_heads)`, as edits of the course's own answer."""

from ...mistakes.bank import Bank
from ...mistakes.prices import ALL
from ..families.wordings import says

BANK = Bank(
    "interleaved_to_halves",
    places={
        "ROWS": "rows = weight.shape[0]",
        "CHECK": """if rows % (2 * num_heads):
        raise ValueError(f"{rows} rows can't be cut into {num_heads} heads of pairs")""",
        "PAIRS": "weight.unflatten(0, (num_heads, -1, 2))",
        "CUT": "(num_heads, -1, 2)",
        "RETURN": "return pairs.transpose(1, 2).flatten(0, 2)",
    },
    seen_on_a_gpu="across-heads",
)
mistake = BANK.mistake

# --- the order ------------------------------------------------------------------------------------

BANK.released(
    "across-heads",
    "This is the code as it was given: it puts the first rows of all pairs first, across the heads, so that a head gets"
    " rows of others. Reorder within each head.",
    "huggingface/transformers#25199",
)
mistake(
    "across-heads-still",
    "The rows are still reordered across all heads, as if there were only one, so that a head gets rows of others: keep"
    " a dimension for the heads, and reorder within it.",
    PAIRS="weight.unflatten(0, (1, -1, 2))",
)
BANK.variant("across-heads-still", RETURN="return torch.cat([weight[::2], weight[1::2]])")
mistake(
    "the-way-back",
    "This is the way back, from halves to pairs: the input has pairs (d/2, 2), and the output halves (2, d/2).",
    CUT="(num_heads, 2, -1)",
)
mistake(
    "way-back-across-heads",
    "This is the way back, from halves to pairs, and across the heads: within each head, pairs (d/2, 2) become halves"
    " (2, d/2).",
    PAIRS="weight.unflatten(0, (1, 2, -1))",
)
mistake(
    "not-reordered",
    "Nothing has moved: cut the rows of each head into pairs, and swap the two dimensions.",
    price=ALL,
    RETURN="return pairs.flatten(0, 2)",
)
mistake(
    "second-ones-first",
    "The second rows of the pairs come first: rows 0, 2, 4 and so on of a head come before 1, 3, 5.",
    RETURN="return pairs.flip(2).transpose(1, 2).flatten(0, 2)",
)
mistake(
    "pairs-reversed",
    "The pairs of a head come in reverse order, so that each is turned by another one's angle.",
    RETURN="return pairs.flip(1).transpose(1, 2).flatten(0, 2)",
)
mistake(
    "heads-reversed",
    says("heads-reversed"),
    RETURN="return pairs.flip(0).transpose(1, 2).flatten(0, 2)",
)
BANK.variant("across-heads-still", RETURN="return pairs.permute(2, 0, 1, 3).flatten(0, 2)")
mistake(
    "heads-and-pairs-swapped",
    "The rows of different heads are mixed: heads stay the first, slowest dimension, and only pairs and halves are"
    " swapped.",
    RETURN="return pairs.transpose(0, 1).flatten(0, 2)",
)
mistake(
    "heads-as-the-fastest-index",
    "The rows are cut as if the heads were the last, fastest index: a head owns a contiguous block of rows.",
    PAIRS="weight.unflatten(0, (-1, 2, num_heads)).permute(2, 0, 1, 3)",
    RETURN="return pairs.transpose(1, 2).permute(1, 2, 0, 3).flatten(0, 2)",
)
mistake(
    "width-for-number",
    "`num_heads` is taken for the width of a head: it is the number of heads.",
    PAIRS="weight.unflatten(0, (-1, num_heads // 2, 2)) if num_heads > 1 else weight.unflatten(0, (1, -1, 2))",
)
mistake(
    "only-the-first-head",
    "Only the first head is reordered: all of them are.",
    RETURN="return torch.cat([pairs[:1].transpose(1, 2).flatten(0, 2), pairs[1:].flatten(0, 2)])",
)
mistake(
    "first-head-for-all",
    "Every head gets the rows of the first one: add the number of the row at which each head starts.",
    RETURN="return pairs[:1].expand_as(pairs).transpose(1, 2).flatten(0, 2)",
)
mistake(
    "columns-reordered",
    "The columns are reordered, which are input features: a pair is two rows, the output features of the projection.",
    RETURN="return torch.cat([weight[:, ::2], weight[:, 1::2]], dim=1)",
)
mistake(
    "transposed",
    says("transposed"),
    RETURN="return pairs.transpose(1, 2).flatten(0, 2).T",
)
mistake(
    "shape-of-the-heads-left",
    "The new weight still has dimensions of its own for heads and pairs: merge them, so that it has the old shape.",
    RETURN="return pairs.transpose(1, 2).flatten(1, 2)",
)
mistake(
    "minus-in-the-second-half",
    "The second half has another sign: the minus of the rotation is in the rotation, and rows only move.",
    RETURN="new = pairs.transpose(1, 2)\n"
    "    return (new * torch.tensor([1, -1], device=weight.device)[:, None, None]).to(weight.dtype).flatten(0, 2)",
)
mistake(
    "pairs-averaged",
    "The rows of a pair are averaged: they only move.",
    RETURN="return pairs.mean(dim=2, keepdim=True).expand_as(pairs).transpose(1, 2).flatten(0, 2)",
)
mistake(
    "rows-sorted",
    "The rows are sorted by what they hold: their new places depend on their old places alone.",
    RETURN="return weight[weight[:, 0].argsort()]",
)

# --- shapes ---------------------------------------------------------------------------------------

mistake(
    "viewed-after-transposing",
    "`view` can't merge dimensions that were swapped: use `reshape` or `flatten` there.",
    RETURN="return pairs.transpose(1, 2).view(weight.shape)",
)
mistake(
    "square-weights-only",
    "The number of columns is taken to be the number of rows: a projection of keys for fewer heads is not square."
    " Leave the columns alone, or ask `weight.shape[1]`.",
    PAIRS="weight.reshape(num_heads, rows // num_heads // 2, 2, rows)",
    RETURN="return pairs.transpose(1, 2).reshape(rows, rows)",
)
mistake(
    "view-of-the-input",
    says("view-of-the-input"),
    PAIRS="weight.view(-1).view(weight.shape).unflatten(0, (num_heads, -1, 2))",
)
mistake(
    "squeezed",
    says("squeezed", SUCH="a single input feature"),
    RETURN="return pairs.transpose(1, 2).flatten(0, 2).squeeze()",
)

# --- digits, devices, what is left behind ---------------------------------------------------------

mistake(
    "float32-comes-out",
    says("float32-comes-out"),
    RETURN="return pairs.float().transpose(1, 2).flatten(0, 2)",
)
mistake(
    "through-float32",
    says("through-float32"),
    RETURN="return pairs.float().transpose(1, 2).flatten(0, 2).to(weight.dtype)",
)
mistake(
    "by-numpy",
    "NumPy takes the weight out of the graph, off its device, and knows no bfloat16: torch can do all of this.",
    PAIRS="torch.as_tensor(weight.numpy()).unflatten(0, {CUT})",
)
mistake(
    "made-on-the-cpu",
    "The new weight is made on the CPU, wherever the old one lies: `torch.empty_like(weight)` goes with it.",
    RETURN="new = torch.empty(weight.shape, dtype=weight.dtype)\n"
    "    new[:] = pairs.transpose(1, 2).flatten(0, 2)\n"
    "    return new",
)
mistake(
    "detached",
    says("detached", WHAT="The new weight", WHOM="the old one"),
    PAIRS="weight.detach().unflatten(0, {CUT})",
)
mistake(
    "changed-in-place",
    says("changed-in-place"),
    RETURN="weight.data.copy_(pairs.transpose(1, 2).flatten(0, 2))\n    return weight * 1",
)
mistake(
    "copied-row-by-row-in-place",
    "Rows are written over before they were read, in the weight that is given: write into a new one.",
    RETURN="new, half = weight.detach(), rows // num_heads // 2\n"
    "    for head in range(num_heads):\n"
    "        for i in range(half):\n"
    "            new[2 * head * half + i] = weight[2 * head * half + 2 * i]\n"
    "            new[2 * head * half + half + i] = weight[2 * head * half + 2 * i + 1]\n"
    "    return new",
)
BANK.variant(
    "copied-row-by-row-in-place",
    RETURN="for head in weight.chunk(num_heads):\n"
    "        head[: len(head) // 2], head[len(head) // 2 :] = head[::2], head[1::2]\n"
    "    return weight",
)
mistake(
    "asks-what-the-weight-holds",
    "What the weight holds is looked at (by an `if`, an `assert` or `.item()`), and a tensor on `meta` can't tell: the"
    " order depends on the sizes alone.",
    ROWS="{ROWS}\n    if not weight.isfinite().all():\n        return weight",
)

# --- arguments ------------------------------------------------------------------------------------

mistake(
    "nothing-refused",
    "Rows that can't be cut into heads of whole pairs end in an error of torch's, or in none: raise a `ValueError` with"
    " both numbers.",
    CHECK="",
    PAIRS="weight.reshape(num_heads, rows // num_heads // 2, 2, weight.shape[1])",
)
BANK.variant(
    "nothing-refused",
    CHECK="",
    PAIRS="weight[: rows // (2 * num_heads) * 2 * num_heads].unflatten(0, (num_heads, -1, 2))",
)
mistake(
    "odd-heads-not-refused",
    "Heads with an odd number of rows are not refused: rows are turned in pairs, so raise a `ValueError`.",
    CHECK="""if rows % num_heads:
        raise ValueError(f"{rows} rows can't be cut into {num_heads} heads")""",
    PAIRS="weight.reshape(num_heads, rows // num_heads // 2, 2, weight.shape[1])",
)
mistake(
    "indivisible-not-refused",
    "Rows that the heads don't divide are not refused: raise a `ValueError` with both numbers.",
    CHECK="""if rows // num_heads % 2:
        raise ValueError(f"{rows // num_heads} rows are no pairs")""",
    PAIRS="weight.reshape(num_heads, rows // num_heads // 2, 2, weight.shape[1])",
)
mistake(
    "asserted",
    says("asserted", WHAT="A weight whose rows the heads don't divide"),
    CHECK="assert rows % (2 * num_heads) == 0",
)
mistake(
    "message-without-numbers",
    says(
        "message-without-numbers",
        WHAT="rows that the heads don't divide",
        BOTH="how many rows and how many heads there are",
    ),
    CHECK="""if rows % (2 * num_heads):
        raise ValueError("the heads do not divide the rows")""",
)
mistake(
    "returns-nothing",
    says("returns-nothing", WHAT="the new weight"),
    price=ALL,
    RETURN="pairs.transpose(1, 2).flatten(0, 2)",
)
mistake(
    "returns-the-order",
    "It returns the numbers of the rows in their new order: return the weight with its rows in that order.",
    RETURN="return torch.arange(rows).unflatten(0, {CUT}).transpose(1, 2).flatten()",
)
