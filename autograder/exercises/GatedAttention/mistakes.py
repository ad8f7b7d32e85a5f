"""What goes wrong in `GatedAttention(d_model, num_heads)`, as edits of the course's own answer."""

from ...mistakes.bank import Bank
from ...mistakes.prices import ALL
from ..families import forms, roles
from ..families.wordings import says

BANK = Bank(
    "GatedAttention",
    places={
        "DIVIDES": """if d_model % num_heads:
            raise ValueError(f"d_model = {d_model} can't be divided among {num_heads} heads")
        """,
        "RAISED": """raise ValueError(f"d_model = {d_model} can't be divided among {num_heads} heads")""",
        "GATE_LAYER": "self.W_gate = nn.Linear(d_model, d_model, bias=False)",
        "OUT_LAYER": "self.out_proj = nn.Linear(d_model, d_model, bias=False)",
        "SIZES": "b, t, _ = x.shape",
        "QUERIES": "self.W_query(x).view(b, t, self.num_heads, self.head_dim).transpose(1, 2)",
        "KEYS": "self.W_key(x).view(b, t, self.num_heads, self.head_dim).transpose(1, 2)",
        "VALUES": "self.W_value(x).view(b, t, self.num_heads, self.head_dim).transpose(1, 2)",
        "PRODUCT": "queries @ keys.transpose(2, 3)",
        "SCALE": " / self.head_dim**0.5",
        "TRIANGLE": "torch.ones(t, t, dtype=torch.bool, device=x.device).tril()",
        "WEIGHTS": "scores.masked_fill(~past, -torch.inf).softmax(dim=-1)",
        "FILL": "-torch.inf",
        "MERGED": "(weights @ values).transpose(1, 2).flatten(2)",
        "GATE": "self.W_gate(x).sigmoid()",
        "RETURN": "return self.out_proj(gate * found)",
        "OUTPUT": "self.out_proj(gate * found)",
    },
    seen_on_a_gpu="no-gate",
)
mistake, variant = BANK.mistake, BANK.variant

# --- the gate ---------------------------------------------------------------------------------------

mistake(
    "no-gate",
    "The gate plays no part: this is multi-head attention. Multiply what the heads find by the sigmoid of `W_gate(x)`.",
    price=ALL,
    RETURN="return self.out_proj(found)",
)
mistake(
    "no-sigmoid",
    "The gate is `W_gate(x)` as it is, which may be anything: a sigmoid brings it between 0 and 1.",
    GATE="self.W_gate(x)",
)
mistake(
    "tanh",
    "The gate goes through a tanh, which can be negative: it is a sigmoid.",
    GATE="self.W_gate(x).tanh()",
)
mistake(
    "silu",
    "The gate goes through a SiLU, as in SwiGLU: here it is a sigmoid.",
    GATE="F.silu(self.W_gate(x))",
)
mistake(
    "softmax-gate",
    "The gate goes through a softmax, so that features compete: each has a sigmoid of its own.",
    GATE="self.W_gate(x).softmax(dim=-1)",
)
mistake(
    "closed-for-open",
    "The gate is 1 − σ: open where it should be closed.",
    GATE="1 - self.W_gate(x).sigmoid()",
)
mistake(
    "gate-added",
    says("gate-added"),
    RETURN="return self.out_proj(gate + found)",
)
mistake(
    "gate-behind-the-projection",
    "The gate acts after the output projection: it acts on what the heads find, before that.",
    RETURN="return gate * self.out_proj(found)",
)
mistake(
    "gate-of-what-was-found",
    "The gate is made of what the heads find: it is made of the input x, as the queries are.",
    GATE="self.W_gate(found).sigmoid()",
)
mistake(
    "gate-on-the-values",
    "The gate acts on the values, before they are averaged: it belongs to the token that finds, not to those that are"
    " found.",
    VALUES="(self.W_gate(x).sigmoid() * self.W_value(x)).view(b, t, self.num_heads, self.head_dim).transpose(1, 2)",
    RETURN="return self.out_proj(found)",
)
mistake(
    "gate-on-the-queries",
    "The gate acts on the queries, where it changes who is found: it acts on what the heads find.",
    QUERIES="(self.W_gate(x).sigmoid() * self.W_query(x)).view(b, t, self.num_heads, self.head_dim).transpose(1, 2)",
    RETURN="return self.out_proj(found)",
)
mistake(
    "gate-on-the-input",
    "The gate acts on the input of the layer: it acts on what the heads find.",
    SIZES="{SIZES}\n        gate, x = self.W_gate(x).sigmoid(), self.W_gate(x).sigmoid() * x",
    GATE="1.0",
)
mistake(
    "gate-of-the-token-before",
    "Each token's gate acts on what the token after it finds: a token has its own gate.",
    GATE="self.W_gate(x).sigmoid().roll(1, dims=1)",
)
mistake(
    "one-gate-for-a-token",
    "There is one gate for all features of a token, their mean: each feature has its own.",
    GATE="self.W_gate(x).sigmoid().mean(dim=-1, keepdim=True)",
)
mistake(
    "one-gate-for-a-head",
    "There is one gate for all features of a head, their mean: each feature has its own.",
    GATE="""self.W_gate(x).sigmoid().unflatten(2, (self.num_heads, -1))
        gate = gate.mean(dim=-1, keepdim=True).expand(-1, -1, -1, self.head_dim).flatten(2)""",
)
mistake(
    "gates-in-another-order",
    "Gates and features are put together in different orders, feature by feature and head by head: head 0's come first,"
    " in both.",
    GATE="{GATE}.unflatten(2, (-1, self.num_heads)).transpose(2, 3).flatten(2)",
)
mistake(
    "gate-twice",
    "The gate acts twice, before the output projection and after it: once, before it.",
    RETURN="return gate * {OUTPUT}",
)
mistake(
    "gate-doubled",
    "The gate goes from 0 to 2, so that it is 1 where its layer gives 0: σ alone, from 0 to 1.",
    GATE="2 * self.W_gate(x).sigmoid()",
)
mistake(
    "gate-detached",
    says("gate-detached"),
    GATE="self.W_gate(x).sigmoid().detach()",
)
mistake(
    "gate-with-bias",
    "`W_gate` has a bias: none of the layers has one.",
    GATE_LAYER="self.W_gate = nn.Linear(d_model, d_model)",
)
mistake(
    "exp-without-care",
    "The sigmoid is computed as exp(y) / (1 + exp(y)), which is NaN for large y: use torch's `sigmoid`.",
    GATE="self.W_gate(x).exp() / (1 + self.W_gate(x).exp())",
)

# --- the attention ----------------------------------------------------------------------------------

mistake(
    "no-mask",
    says("no-mask"),
    TRIANGLE="torch.ones(t, t, dtype=torch.bool, device=x.device)",
)
mistake(
    "one-step-ahead",
    says("one-step-ahead"),
    TRIANGLE="torch.ones(t, t, dtype=torch.bool, device=x.device).tril(1)",
)
mistake(
    "upside-down",
    says("upside-down"),
    TRIANGLE="torch.ones(t, t, dtype=torch.bool, device=x.device).triu()",
)
mistake(
    "mask-after-softmax",
    says("mask-after-softmax", SCORED="scores"),
    WEIGHTS="scores.softmax(dim=-1) * past",
)
mistake(
    "mask-fills-with-zero",
    says("mask-fills-with-zero", SCORED="scores"),
    FILL="0.0",
)
mistake(
    "mask-fills-with-hundred",
    "Hidden scores are filled with a number that real scores can reach: fill with -inf.",
    FILL="-100.0",
)
mistake(
    "mask-fills-with-ten-thousand",
    says("mask-fills-with-ten-thousand", SCORED="scores", AND_WHERE_EMPTY=""),
    FILL="-1e4",
)
mistake(
    "no-scale",
    says("no-scale", WIDTH="a head's width"),
    SCALE="",
)
mistake(
    "scale-by-all-heads",
    says("scale-by-all-heads", WIDTH="the width of one head"),
    SCALE=" / x.shape[-1] ** 0.5",
)
mistake(
    "scale-without-root",
    says("scale-without-root", WIDTH="the width of a head"),
    SCALE=" / self.head_dim",
)
mistake(
    "root-in-float32",
    "The root of the width is a tensor in float32, with half the digits of float64: divide by a Python number.",
    SCALE=" / torch.tensor(float(self.head_dim)).sqrt()",
)
mistake(
    "softmax-over-queries",
    says("softmax-over-queries"),
    WEIGHTS="scores.masked_fill(~past, -torch.inf).softmax(dim=-2)",
)
mistake(
    "query-and-key-swapped",
    says("query-and-key-swapped"),
    PRODUCT="keys @ queries.transpose(2, 3)",
)
mistake(
    "one-head",
    says("one-head"),
    DIVIDES="{DIVIDES}num_heads = 1\n        ",
)
mistake(
    "reshaped-in-one-step",
    says("reshaped-in-one-step"),
    QUERIES="self.W_query(x).view(b, self.num_heads, t, self.head_dim)",
    KEYS="self.W_key(x).view(b, self.num_heads, t, self.head_dim)",
    VALUES="self.W_value(x).view(b, self.num_heads, t, self.head_dim)",
)
mistake(
    "merged-without-transposing",
    says("merged-without-transposing"),
    MERGED="(weights @ values).reshape(b, t, -1)",
)
mistake(
    "no-output-projection",
    "What went through the gate is returned as it is: `out_proj` comes last.",
    RETURN="return gate * found",
)
mistake(
    "input-added",
    says("input-added"),
    RETURN="return x + {OUTPUT}",
)

# --- the rest ---------------------------------------------------------------------------------------

mistake(
    "indivisible-floored",
    says("indivisible-floored", ALL="the width"),
    DIVIDES="",
)
mistake(
    "message-without-numbers",
    says(
        "message-without-numbers",
        WHAT="a width that the heads don't divide",
        BOTH="how wide it is, and how many heads there are",
    ),
    RAISED='raise ValueError("the heads do not divide the width")',
)
mistake(
    "asserted",
    says("asserted", WHAT="A width that the heads don't divide"),
    DIVIDES="assert d_model % num_heads == 0\n        ",
)
mistake(
    "float32-comes-out",
    says("float32-comes-out"),
    RETURN="return {OUTPUT}.float()",
)
mistake(
    "gate-in-float32",
    "The gate is made in float32, so float64 loses half its digits: leave the dtype as it is.",
    GATE="self.W_gate(x).float().sigmoid().to(x.dtype)",
)
mistake(
    "mask-on-the-cpu",
    says("mask-on-the-cpu", WHAT="the input"),
    TRIANGLE="torch.ones(t, t, dtype=torch.bool).tril()",
)
mistake(
    "squeezed",
    says("squeezed", SUCH="a batch of one or a sequence of one token"),
    RETURN="return {OUTPUT}.squeeze()",
)
mistake(
    "input-changed",
    says("input-changed", X="x"),
    SIZES="{SIZES}\n        x = x if x.requires_grad else x.mul_(2) / 2",
)
BANK.share(roles.of(BANK))
forms.add_to(BANK)
