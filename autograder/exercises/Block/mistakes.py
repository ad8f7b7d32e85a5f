"""What goes wrong in `Block(d_model, num_heads, num_kv_heads, hidden, rope_base=10000.0)`.

The mistakes are edits of the course's own answer, with right versions of its parts beside it.
"""

from ...mistakes.bank import Bank
from ...mistakes.prices import ALL
from ..families.attention import mistakes as attention
from ..families.many_heads import mistakes as family
from ..families.wordings import says

BANK = Bank(
    "Block",
    places={
        "SUPER": "super().__init__()",
        "NORMS": "self.attention_norm, self.mlp_norm = RMSNorm(d_model), RMSNorm(d_model)",
        "ATTENTION": "GroupedQueryAttention(d_model, num_heads, num_kv_heads, rope_base=rope_base)",
        "MLP": "SwiGLU(d_model, hidden)",
        "FIRST": "x = x + self.attention(self.attention_norm(x))",
        "FOUND": "self.attention(self.attention_norm(x))",
        "RETURN": "return x + self.mlp(self.mlp_norm(x))",
        "END": "x + self.mlp(self.mlp_norm(x))",
        "MADE": "self.mlp(self.mlp_norm(x))",
    },
    words=attention.WORDS,
    beside=("RMSNorm", "SwiGLU", "apply_rope", "GroupedQueryAttention"),
    seen_on_a_gpu="parallel",
)
mistake = BANK.mistake

# --- sums -----------------------------------------------------------------------------------------

mistake(
    "parallel",
    "These are the values you get when the network reads the x that came in: it reads what the attention has added to.",
    FIRST="found = {FOUND}",
    RETURN="return x + found + {MADE}",
)
BANK.variant("parallel", FIRST="found = {FOUND} + {MADE}", RETURN="x += found\n        return x")
mistake(
    "no-residuals",
    "These are the values you get without residual connections: to what each of the two layers gives, its x is added.",
    FIRST="x = {FOUND}",
    END="{MADE}",
)
mistake(
    "attention-without-residual",
    "These are the values you get when x is not added to what the attention finds.",
    FIRST="x = {FOUND}",
)
mistake(
    "mlp-without-residual",
    "These are the values you get when x is not added to what the network makes of it.",
    END="{MADE}",
)
mistake(
    "input-added-to-both",
    "These are the values you get when the x that came in is added to the network's output as well: there it is the sum"
    " with what the attention has found.",
    FIRST="came = x\n        {FIRST}",
    END="came + {MADE}",
)
mistake(
    "input-added-again",
    "These are the values you get when the x that came in is added once more in the end: it is in the sum already.",
    FIRST="came = x\n        {FIRST}",
    END="came + {END}",
)
mistake(
    "attention-alone-read",
    "These are the values you get when the network reads what the attention has found, without the x that is added to"
    " it.",
    FIRST="found = {FOUND}\n        x = x + found",
    MADE="self.mlp(self.mlp_norm(found))",
)
mistake(
    "residuals-halved",
    "These are the values you get when a sum is divided by two, or by its root: it is a plain sum.",
    FIRST="x = (x + {FOUND}) / 2**0.5",
    END="({END}) / 2**0.5",
)
mistake(
    "residual-detached",
    "The x that is added is cut out of the graph (`detach`, `.data`), so gradients don't flow past the layers.",
    FIRST="x = x.detach() + {FOUND}",
)
mistake(
    "attention-detached",
    "What the attention finds is cut out of the graph (`detach`, `no_grad`), so its layers never learn.",
    FIRST="x = x + ({FOUND}).detach()",
)
mistake(
    "mlp-first",
    "These are the values you get when the network comes before the attention: it comes after it.",
    FIRST="x = x + {MADE}",
    RETURN="return x + {FOUND}",
)
mistake(
    "attention-left-out",
    "These are the values you get when `attention` is made and never used.",
    price=ALL,
    FIRST="",
)
mistake(
    "mlp-left-out",
    "These are the values you get when `mlp` is made and never used.",
    RETURN="return x",
)
mistake(
    "attention-twice",
    "These are the values you get when the attention acts twice: once, and then the network.",
    FIRST="{FIRST}\n        {FIRST}",
)

# --- norms ----------------------------------------------------------------------------------------

mistake(
    "post-norm",
    "These are the values you get when the norms come after the sums, as in the first Transformer: here each stands"
    " before its layer, and nothing on the path of the sums.",
    FIRST="x = self.attention_norm(x + self.attention(x))",
    RETURN="return self.mlp_norm(x + self.mlp(x))",
)
mistake(
    "norms-on-the-stream",
    "These are the values you get when the normalised x takes the place of x in the sums: only the layers read it, and"
    " what is added is x itself.",
    FIRST="x = self.attention_norm(x)\n        x = x + self.attention(x)",
    RETURN="x = self.mlp_norm(x)\n        return x + self.mlp(x)",
)
mistake(
    "attention-norm-on-the-stream",
    "These are the values you get when the x that is added to what the attention finds is the normalised one.",
    FIRST="x = self.attention_norm(x)\n        x = x + self.attention(x)",
)
mistake(
    "mlp-norm-on-the-stream",
    "These are the values you get when the x that is added to what the network makes is the normalised one.",
    RETURN="x = self.mlp_norm(x)\n        return x + self.mlp(x)",
)
mistake(
    "norms-of-what-is-added",
    "These are the values you get when the norms act on what the layers give: they act on what the layers read.",
    FIRST="x = x + self.attention_norm(self.attention(x))",
    RETURN="return x + self.mlp_norm(self.mlp(x))",
)
mistake(
    "no-norms",
    "These are the values you get when the norms are made and never used: each layer reads the normalised x.",
    FOUND="self.attention(x)",
    MADE="self.mlp(x)",
)
mistake(
    "attention-without-norm",
    "These are the values you get when the attention reads x as it is: it reads the normalised x.",
    FOUND="self.attention(x)",
)
mistake(
    "mlp-without-norm",
    "These are the values you get when the network reads x as it is: it reads the normalised x.",
    MADE="self.mlp(x)",
)
mistake(
    "norms-exchanged",
    says("norms-exchanged", ONE="attention_norm", OTHER="mlp_norm"),
    FOUND="self.attention(self.mlp_norm(x))",
    MADE="self.mlp(self.attention_norm(x))",
)
mistake(
    "attention-norm-twice",
    "These are the values you get when `attention_norm` stands before the network as well: that has `mlp_norm`.",
    MADE="self.mlp(self.attention_norm(x))",
)
mistake(
    "mlp-norm-twice",
    "These are the values you get when `mlp_norm` stands before the attention as well: that has `attention_norm`.",
    FOUND="self.attention(self.mlp_norm(x))",
)
mistake(
    "one-norm-for-both",
    says("one-norm-for-both", ONE="attention_norm", OTHER="mlp_norm"),
    NORMS="self.attention_norm = self.mlp_norm = RMSNorm(d_model)",
)
mistake(
    "normed-in-the-end",
    "These are the values you get when a norm acts on the whole output: that one belongs to the model, once, after its"
    " last block.",
    END="self.mlp_norm({END})",
)
mistake(
    "layer-norms",
    says("layer-norms", ONE="attention_norm", OTHER="mlp_norm"),
    NORMS="self.attention_norm, self.mlp_norm = nn.LayerNorm(d_model), nn.LayerNorm(d_model)",
)
mistake(
    "norms-with-another-eps",
    "The norms have another `eps` than the usual one, which shows where tokens are nearly 0: leave it at 1e-6.",
    NORMS="self.attention_norm, self.mlp_norm = RMSNorm(d_model, 1e-5), RMSNorm(d_model, 1e-5)",
)
mistake(
    "norm-of-a-head",
    "The norms are as wide as a head: they act on whole tokens, d_model wide.",
    NORMS="self.attention_norm, self.mlp_norm = (RMSNorm(d_model // num_heads) for _ in range(2))",
)

# --- parts ----------------------------------------------------------------------------------------

mistake(
    "base-not-handed-on",
    "These are the values you get when nothing is turned, whatever `rope_base` says: pass it on to the attention.",
    ATTENTION="GroupedQueryAttention(d_model, num_heads, num_kv_heads)",
)
mistake(
    "base-always-ten-thousand",
    "These are the values you get with a base of 10000 whatever `rope_base` says: pass it on to the attention.",
    ATTENTION="GroupedQueryAttention(d_model, num_heads, num_kv_heads, rope_base=10000.0)",
)
mistake(
    "none-taken-for-the-usual-base",
    "These are the values you get when a `rope_base` of None stands for 10000: with None nothing is turned.",
    ATTENTION="GroupedQueryAttention(d_model, num_heads, num_kv_heads, rope_base=rope_base or 10000.0)",
)
mistake(
    "no-base-by-default",
    "Without a `rope_base` nothing is turned: the default is 10000.",
    {"rope_base=10000.0):": "rope_base=None):"},
)
mistake(
    "base-as-head-dim",
    "`rope_base` is passed on as the fourth argument, which is `head_dim`: pass it by its name.",
    ATTENTION="GroupedQueryAttention(d_model, num_heads, num_kv_heads, rope_base)",
)
mistake(
    "key-heads-not-handed-on",
    "The attention has as many key heads as query heads: pass `num_kv_heads` on.",
    ATTENTION="GroupedQueryAttention(d_model, num_heads, num_heads, rope_base=rope_base)",
)
mistake(
    "always-one-key-head",
    "The attention has a single key head, whatever `num_kv_heads` says: pass it on.",
    ATTENTION="GroupedQueryAttention(d_model, num_heads, 1, rope_base=rope_base)",
)
mistake(
    "heads-exchanged",
    "`num_heads` and `num_kv_heads` reach the attention in the wrong order: the number of query heads comes first.",
    ATTENTION="GroupedQueryAttention(d_model, num_kv_heads, num_heads, rope_base=rope_base)",
)
mistake(
    "norms-of-queries-and-keys",
    "The attention is made with `qk_norm=True`, which nobody asked for: here it has no norms of queries and keys.",
    ATTENTION="GroupedQueryAttention(d_model, num_heads, num_kv_heads, rope_base=rope_base, qk_norm=True)",
)
mistake(
    "heads-as-wide-as-the-model",
    "Each head is `d_model` wide: leave `head_dim` out, and each is d_model / num_heads wide.",
    ATTENTION="GroupedQueryAttention(d_model, num_heads, num_kv_heads, d_model, rope_base)",
)
mistake(
    "hidden-ignored",
    "The network has 4 * d_model features inside, whatever `hidden` says: pass it on.",
    MLP="SwiGLU(d_model, 4 * d_model)",
)
mistake(
    "network-inside-out",
    "The widths of the network have changed places: `SwiGLU` takes `d_model` first, then `hidden`.",
    MLP="SwiGLU(hidden, d_model)",
)
mistake(
    "plain-network",
    "`mlp` is not your `SwiGLU`: its layers are called `W_gate`, `W_up` and `W_down`.",
    MLP="nn.Sequential(nn.Linear(d_model, hidden), nn.SiLU(), nn.Linear(hidden, d_model))",
)
mistake(
    "other-names",
    "There are parts with other names than the exercise gives them: they are `attention_norm`, `attention`, `mlp_norm`"
    " and `mlp`.",
    NORMS="self.norm1, self.norm2 = RMSNorm(d_model), RMSNorm(d_model)",
    FOUND="self.attention(self.norm1(x))",
    MADE="self.mlp(self.norm2(x))",
)
BANK.variant(
    "other-names",
    {"self.attention = ": "self.attn = "},
    NORMS="self.norm1, self.norm2 = RMSNorm(d_model), RMSNorm(d_model)",
    FOUND="self.attn(self.norm1(x))",
    MADE="self.mlp(self.norm2(x))",
)
BANK.variant(
    "other-names",
    {"self.attention = ": "self.attn = ", "self.mlp = ": "self.ffn = "},
    NORMS="self.norm1, self.norm2 = RMSNorm(d_model), RMSNorm(d_model)",
    FOUND="self.attn(self.norm1(x))",
    MADE="self.ffn(self.norm2(x))",
)
mistake(
    "parts-in-a-list",
    "The parts are kept in a plain Python list, which hides their parameters: keep each as an attribute of its own.",
    NORMS="self.parts = [RMSNorm(d_model), RMSNorm(d_model)]",
    FOUND="self.attention(self.parts[0](x))",
    MADE="self.mlp(self.parts[1](x))",
)

# --- care -----------------------------------------------------------------------------------------

mistake(
    "input-changed",
    says("input-changed", X="x"),
    FIRST="x += {FOUND}",
)
mistake(
    "dropout-added",
    says("dropout-added"),
    MADE="F.dropout({MADE}, 0.1, self.training)",
)
BANK.share(
    attention.SHARED,
    "squeezed",
    "float32-comes-out",
    "through-float32",
    "batch-flattened",
    edits={
        "through-float32": {"FIRST": "dtype, x = x.dtype, x.float()\n        {FIRST}", "END": "({END}).to(dtype)"},
        "batch-flattened": {
            "FIRST": "shape, x = x.shape, x.reshape(1, -1, x.shape[-1])\n        {FIRST}",
            "END": "({END}).reshape(shape)",
        },
    },
)
mistake(
    "view-of-the-input",
    attention.SHARED["view-of-the-input"].says,
    FIRST="x = x.view(-1).view(x.shape)\n        {FIRST}",
)
mistake(
    "rank-not-checked",
    "An input with more than three dimensions is accepted, since its first ones are joined: leave the dimensions alone,"
    " and the attention refuses it with a `ValueError`.",
    FIRST="x = x if x.dim() < 4 else x.flatten(0, -3)\n        {FIRST}",
)
mistake(
    "batch-of-one-added",
    "An input without a batch is accepted, since a dimension is added to it: leave the dimensions alone, and the"
    " attention refuses it with a `ValueError`.",
    FIRST="x = x if x.dim() > 2 else x[None]\n        {FIRST}",
)
mistake(
    "made-on-the-cpu",
    "The input is brought to the CPU, where the layers need not be: let it lie where it does.",
    FIRST="x = x.cpu() if x.device.type != 'cpu' else x\n        {FIRST}",
)
mistake(
    "returns-nothing",
    says("returns-nothing", WHAT="the last sum"),
    price=ALL,
    RETURN="{END}",
)
mistake(
    "returns-a-pair",
    says("returns-a-pair"),
    FIRST="found = {FOUND}\n        x = x + found",
    RETURN="return {END}, found",
)
BANK.share(
    family.WRITTEN_OUT,
    "super-forgotten",
    "super-without-brackets",
    "init-without-underscores",
    "first-result-kept",
)
