"""What goes wrong in `Head(n_embd, head_size, block_size, dropout)`, as edits of the course's own answer."""

from ...mistakes.bank import Bank

SCALE = " * k.shape[-1] ** -0.5"
SCORES = "q @ k.transpose(-2, -1)"
SOFTMAX = "F.softmax(wei, dim=-1)"
MASK = "self.tril[:t, :t] == 0"  # True where the key is hidden
HIDE = 'wei = wei.masked_fill(self.tril[:t, :t] == 0, float("-inf"))'
ALLOWED = "(self.tril[:t, :t] != 0)"
TRIL = 'self.register_buffer("tril", torch.tril(torch.ones(block_size, block_size)))'
DROP = "self.dropout(F.softmax(wei, dim=-1))"
END = "return wei @ v "

BANK = Bank(
    "Head",
    places=dict(SCALE=SCALE, SCORES=SCORES, SOFTMAX=SOFTMAX, MASK=MASK, HIDE=HIDE, TRIL=TRIL, DROP=DROP, END=END),
)
mistake = BANK.mistake

# --- the original and its defects -----------------------------------------------------------------

BANK.released(
    "original-003",
    "This is notebook 003's class as it was given: its constructor takes the head's size alone, and the embedding's"
    " size, the block's and the dropout come from globals (NameError). Its scale goes by the wrong width.",
    "003",
)
mistake(
    "dropout-left-global",
    "The constructor has no parameter for dropout, which still comes from a global: it should take n_embd, head_size,"
    " block_size and dropout, in this order.",
    {"block_size, dropout):": "block_size):", "nn.Dropout(dropout)": "nn.Dropout(0.0)"},
    original="003",
)
mistake(
    "scale-by-embedding-width",
    "These are the values you get when scores are divided by the root of n_embd, as notebook 003 has it: it is the"
    " width of the key, head_size, that counts.",
    {SCALE: " * x.shape[-1] ** -0.5"},
    original="003",
)
mistake(
    "always-bias",
    "The layers have a bias: none of the three should.",
    {
        f"self.{name} = nn.Linear(n_embd, head_size, bias=False)": f"self.{name} = nn.Linear(n_embd, head_size)"
        for name in ("key", "query", "value")
    },
)

# --- layers ---------------------------------------------------------------------------------------

mistake(
    "one-projection",
    "One matrix serves for queries, keys and values: each role has a matrix of its own.",
    {"self.value = nn.Linear(n_embd, head_size, bias=False)": "self.key = self.value = self.query"},
)
mistake(
    "keys-from-queries",
    "These are the values you get when the keys are made by `query`: each role has a matrix of its own.",
    {"k = self.key(x)": "k = self.query(x)"},
)
mistake(
    "keys-as-values",
    "These are the values you get when the weights are applied to the keys: mix the values.",
    {END: "return wei @ k "},
)
mistake(
    "inputs-as-values",
    "The weights are applied to the input itself: `value` has no part in the output. Mix the values.",
    {END: "return wei @ x "},
)
mistake(
    "layers-made-in-forward",
    "The layers are made anew in every call, so nothing can be learnt or loaded: make them in `__init__`.",
    {
        f"self.{n} = nn.Linear(n_embd, head_size, bias=False)": f"self.{n}_size = n_embd, head_size"
        for n in ("key", "query", "value")
    }
    | {f"self.{n}(x)": f"nn.Linear(*self.{n}_size)(x)" for n in ("key", "query", "value")},
)

# --- scores and softmax ---------------------------------------------------------------------------

mistake("no-scale", "These are the values you get without a scale: divide the scores by √head_size.", {SCALE: ""})
mistake(
    "scale-without-root",
    "These are the values you get when scores are divided by head_size: it should be its square root.",
    {SCALE: " / k.shape[-1]"},
)
mistake(
    "scale-by-number-of-tokens",
    "These are the values you get when scores are divided by √t (or the root of the most"
    " tokens there may be): it is the width of the key, head_size, that counts.",
    {SCALE: " / t ** 0.5"},
)
mistake(
    "scale-after-softmax",
    "These are the values you get when the weights are scaled: scale the scores, before the softmax, else rows no"
    " longer sum to 1.",
    {SCALE: "", END: "return wei / v.shape[-1] ** 0.5 @ v "},
)
mistake(
    "key-not-transposed",
    "The keys are not transposed in the product of queries and keys, which fits only when t = head_size.",
    {SCORES: "q @ k"},
)
mistake(
    "query-and-key-swapped",
    "These are the values you get when queries and keys change places in the product: rows belong to queries, so Q"
    " comes first.",
    {SCORES: "k @ q.transpose(-2, -1)"},
)
mistake(
    "softmax-over-queries",
    "These are the values you get when the softmax runs over the queries, so that columns sum to 1 and not rows: check"
    " `dim`, it should be the last.",
    {SOFTMAX: "F.softmax(wei, dim=1)"},
)
mistake(
    "softmax-over-batch",
    "The softmax runs over the batch (`dim=0`): the keys compete, and they are the last dimension.",
    {SOFTMAX: "F.softmax(wei, dim=0)"},
)
mistake(
    "exp-without-max",
    "The exponentials overflow for large scores and vanish for very negative ones: subtract each row's largest score"
    " before `exp`, or use torch's softmax.",
    {SOFTMAX: "wei.exp() / wei.exp().sum(-1, keepdim=True)"},
)

# --- the causal mask ------------------------------------------------------------------------------

mistake("mask-missing", "These are the values you get without a causal mask: every token sees the future.", {HIDE: ""})
mistake(
    "mask-after-softmax",
    "These are the values you get when the mask is applied to the weights: rows no longer sum to 1, and the future"
    " still counts in the softmax. Fill the scores, before it.",
    {HIDE: "", SOFTMAX: f"F.softmax(wei, dim=-1) * {ALLOWED}"},
)
mistake(
    "renormalised-afterwards",
    "The weights are masked after the softmax and divided by their sum, which is 0 where a hidden score is far above"
    " the others: fill the scores, before the softmax.",
    {
        HIDE: "",
        f"wei = {DROP}": f"wei = F.softmax(wei, dim=-1) * {ALLOWED}\n"
        "        wei = self.dropout(wei / wei.sum(-1, keepdim=True))",
    },
)
mistake(
    "mask-fills-with-zero",
    "These are the values you get when masked scores become 0 (filled with 0, or multiplied by the mask): e⁰ is 1, so"
    " what is hidden still takes part. Fill with -inf.",
    {'float("-inf")': "0.0"},
)
mistake(
    "mask-fills-with-small-number",
    "Masked scores are filled with -10 or so, which other scores easily reach: fill with -inf.",
    {'float("-inf")': "-10.0"},
)
mistake(
    "mask-fills-with-ten-thousand",
    "Masked scores are filled with -10,000, which real scores can reach: fill with -inf.",
    {'float("-inf")': "-1e4"},
)
mistake(
    "mask-fills-with-billion",
    "Masked scores are filled with -1e9, and float16 has no such number: fill with -inf.",
    {'float("-inf")': "-1e9"},
)
mistake(
    "zero-times-infinity",
    "The mask is multiplied by -inf and added to the scores, but 0 times infinity is NaN: use `masked_fill`.",
    {HIDE: f'wei = wei + ~{ALLOWED} * float("-inf")'},
)
mistake(
    "diagonal-hidden",
    "A token may not attend to itself, and the first one has nothing left: keep the diagonal.",
    {"torch.tril(torch.ones(block_size, block_size))": "torch.tril(torch.ones(block_size, block_size), -1)"},
)
mistake(
    "one-step-ahead",
    "Each token also sees the next one, the very one that it should guess: hide all that is above the diagonal.",
    {"torch.tril(torch.ones(block_size, block_size))": "torch.tril(torch.ones(block_size, block_size), 1)"},
)
mistake(
    "upside-down",
    "Each token sees itself and what comes after it, and the past is hidden: rows are queries, so the past is the lower"
    " triangle.",
    {"torch.tril(": "torch.triu("},
)
mistake(
    "mask-inverted",
    "The past is hidden, and the future is seen: `masked_fill` fills where its mask is True, so look again at what True"
    " means in yours.",
    {MASK: "self.tril[:t, :t] != 0"},
)
mistake(
    "mask-not-cut",
    "The mask has always the size of the whole block, and a shorter sequence does not fit to it: cut its upper left"
    " corner.",
    {MASK: "self.tril == 0"},
)
mistake(
    "mask-cut-at-the-end",
    "The mask is cut from its lower right corner, which has the wrong number of rows or columns for some lengths, or is"
    " cut in one dimension alone: take the first t rows and the first t columns.",
    {MASK: "self.tril[-t:, :t] == 0"},
)
mistake(
    "mask-not-moved",
    "The mask stays on the CPU when the module moves: register it as a buffer, or make it on the input's device.",
    {MASK: "torch.ones(t, t).tril() == 0"},
)
mistake(
    "mask-as-parameter",
    "The mask is a parameter, and parameters are what is learnt: register it as a buffer.",
    {TRIL: "self.tril = nn.Parameter(torch.tril(torch.ones(block_size, block_size)), requires_grad=False)"},
)

# --- dropout and mode -----------------------------------------------------------------------------

mistake(
    "dropout-missing",
    "Nothing is dropped in train mode: apply dropout to the weights.",
    {DROP: "F.softmax(wei, dim=-1)"},
)
mistake(
    "dropout-in-eval",
    "Weights are dropped in eval mode as well: use `nn.Dropout`, or tell `F.dropout` about `self.training`.",
    {DROP: "F.dropout(F.softmax(wei, dim=-1), self.dropout.p)"},
)
mistake(
    "dropout-on-scores",
    "Dropout acts on the scores, before the softmax: a score of 0 hides nothing. Drop weights.",
    {f"{SCORES}{SCALE}": f"self.dropout({SCORES}{SCALE})", DROP: "F.softmax(wei, dim=-1)"},
)
mistake(
    "dropout-on-output",
    "Dropout acts on the output: it belongs on the weights, before the values are mixed.",
    {DROP: "F.softmax(wei, dim=-1)", END: "return self.dropout(wei @ v) "},
)
mistake(
    "dropout-on-values",
    "Dropout acts on the values: it belongs on the weights.",
    {DROP: "F.softmax(wei, dim=-1)", END: "return wei @ self.dropout(v) "},
)
mistake(
    "dropout-not-scaled",
    "The weights that are kept are not divided by 1 - p, so outputs are smaller in training than afterwards:"
    " `nn.Dropout` does that for you.",
    {
        f"wei = {DROP}": "wei = F.softmax(wei, dim=-1)\n        if self.training:\n"
        "            wei = wei * (torch.rand_like(wei) >= self.dropout.p)"
    },
)
mistake(
    "dropout-keeps-p",
    "The parameter of dropout is taken for the share that is kept: `nn.Dropout(p)` drops with probability p.",
    {"nn.Dropout(dropout)": "nn.Dropout(1 - dropout)"},
)
mistake(
    "dropout-same-for-all",
    "The same weights are dropped in each sequence of the batch: let `nn.Dropout` see all of the weights, (b, t, t).",
    {DROP: "F.softmax(wei, dim=-1) * self.dropout(torch.ones_like(wei[0]))"},
)

# --- arguments, batches, gradients, dtypes --------------------------------------------------------

mistake(
    "too-long-not-refused",
    "A sequence longer than the block is left to torch, whose error says nothing about it: compare the lengths at the"
    " start and raise a `ValueError`.",
    {"if t > self.block_size:": "if False:"},
    original="003",
)
mistake(
    "message-without-numbers",
    "The `ValueError` for a sequence that is too long does not hold both numbers: say how long it is, and what the most"
    " is.",
    {'f"a sequence of {t} tokens is longer than the block of {self.block_size}"': '"the sequence is too long"'},
)
mistake(
    "too-long-cut",
    "A sequence that is too long is silently cut: raise a `ValueError` with both numbers.",
    {"t = x.shape[1]": "x = x[:, : self.block_size]\n        t = x.shape[1]"},
)
mistake(
    "full-length-refused",
    "A sequence that is just as long as the block is refused: only a longer one is too long.",
    {"if t > self.block_size:": "if t >= self.block_size:"},
)
mistake(
    "rank-not-checked",
    "Nothing refuses an input that is not three-dimensional: look at `x.dim()` and raise a `ValueError`.",
    {"if x.dim() != 3:": "if False:", "t = x.shape[1]": "t = x.shape[-2]"},
)
mistake(
    "squeezed",
    "`squeeze` drops every dimension of size 1, also a batch of one or a sequence of one token.",
    {END: "return (wei @ v).squeeze() "},
)
mistake(
    "view-of-the-input",
    "`view` needs a tensor that lies contiguous in memory, and a transposed one does not: use `reshape`, or neither.",
    {"t = x.shape[1]": "t = x.shape[1]\n        x = x.view(-1, x.shape[2]).view(x.shape)"},
)
mistake(
    "weights-detached",
    "The weights are cut out of the graph (`detach`, `.data`, `no_grad`), so `query` and `key` never learn.",
    {SOFTMAX: "F.softmax(wei, dim=-1).detach()"},
)
mistake(
    "float32-comes-out",
    "It returns float32 whatever goes in: leave the dtype as it is.",
    {END: "return wei.float() @ v.float() "},
)
mistake(
    "scale-tensor-on-the-cpu",
    "The scale is a tensor of its own, float32 and on the CPU: divide by a Python number, such as"
    " `K.shape[-1] ** 0.5`.",
    {SCALE: " / torch.sqrt(torch.tensor([float(k.shape[-1])]))"},
)
mistake(
    "input-changed-in-place",
    "The input is changed in place, and whoever gave it still needs it: make a new tensor.",
    {END: "with torch.no_grad():\n            x.mul_(2)\n        return wei @ v "},
)
