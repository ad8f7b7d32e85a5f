"""What goes wrong in `LatentAttention(d_model, num_heads, head_dim, latent_dim)`, as edits of the course's answer."""

from ...mistakes.bank import Bank
from ..families import forms
from ..families.attention import mistakes as attention
from ..families.wordings import says

FORWARD = """    def forward(self, x):
        \"\"\"By the definition: keys and values of all heads are made of the latent vectors.\"\"\"
        b, t, _ = x.shape"""
ABSORBED = """    def absorbed(self, x):
        \"\"\"The same without ever making keys or values.\"\"\"
        b, t, _ = x.shape"""

BANK = Bank(
    "LatentAttention",
    places={
        "W_QUERY": "self.W_query = nn.Linear(d_model, num_heads * head_dim, bias=False)",
        "W_DOWN": "self.W_down = nn.Linear(d_model, latent_dim, bias=False)",
        "W_UP_KEY": "self.W_up_key = nn.Linear(latent_dim, num_heads * head_dim, bias=False)",
        "W_UP_VALUE": "self.W_up_value = nn.Linear(latent_dim, num_heads * head_dim, bias=False)",
        "OUT_LAYER": "self.out_proj = nn.Linear(num_heads * head_dim, d_model, bias=False)",
        "SUPER": "super().__init__()",
        "KEPT": "self.num_heads, self.head_dim = num_heads, head_dim",
        "FORWARD": FORWARD,
        "LATENT": "latent = self.W_down(x)  ",
        "KEYS": "self.W_up_key(latent).view(b, t, self.num_heads, -1).transpose(1, 2)",
        "VALUES": "self.W_up_value(latent).view(b, t, self.num_heads, -1).transpose(1, 2)",
        "SCORES": "queries @ keys.transpose(2, 3)",
        "WEIGHTS": "weights = self.weigh({SCORES})",
        "MIX": "weights @ values",
        "END": "self.out_proj((weights @ values).transpose(1, 2).flatten(2))",
        "ABSORBED": ABSORBED,
        "LATENTS": "self.W_down(x)[:, None]",
        "UP_KEY": "self.W_up_key.weight.view(self.num_heads, self.head_dim, -1)",
        "UP_VALUE": "self.W_up_value.weight.view(self.num_heads, self.head_dim, -1)",
        "ASKED": "queries @ up_key @ latent.transpose(2, 3)",
        "ABSORBED_WEIGHTS": "weights = self.weigh({ASKED})",
        "FOUND": "weights @ latent @ up_value.transpose(1, 2)",
        "ABSORBED_END": "self.out_proj(found.transpose(1, 2).flatten(2))",
        "SCALE": " / self.head_dim**0.5",
        "SCALED": "(products / self.head_dim**0.5)",
        "TRIANGLE": ".tril()",
        "PAST": "torch.ones(products.shape[-2:], dtype=torch.bool, device=products.device).tril()",
        "HIDE": ".masked_fill(~past, -torch.inf)",
        "FILL": "-torch.inf",
        "SOFTMAX": ".softmax(dim=-1)",
    },
    words=attention.WORDS
    | {
        "SCORES": "queries @ keys.transpose(2, 3)",
        "ASKED": "queries @ up_key @ latent.transpose(2, 3)",
    },
)
mistake = BANK.mistake

# --- what is absorbed -----------------------------------------------------------------------------

mistake(
    "absorbed-is-forward",
    "`absorbed` calls forward, or makes keys and values as forward does: the matrices for keys go to the queries, and"
    " those for values come after the average.",
    ABSORBED="{ABSORBED}\n        return self.forward(x)",
)
BANK.variant(  # in which what is hidden counts 0 times its value, also where that is infinite
    "absorbed-is-forward",
    {"(weights @ values)": "F.scaled_dot_product_attention(queries, keys, values, is_causal=True)"},
    ABSORBED="{ABSORBED}\n        return self.forward(x)",
)
mistake(
    "keys-made-in-absorbed",
    "`absorbed` still makes keys: multiply the queries by the weights of `W_up_key`, and score the latent vectors with"
    " what comes out.",
    ASKED="queries @ (up_key @ latent.transpose(2, 3))",
)
mistake(
    "values-made-in-absorbed",
    "`absorbed` still makes values: average the latent vectors first, and multiply by the weights of `W_up_value`"
    " afterwards.",
    FOUND="weights @ (latent @ up_value.transpose(1, 2))",
)
mistake(
    "another-heads-keys-when-absorbed",
    "In `absorbed` a head's queries are multiplied by the key matrix of another head: rows i · head_dim and on are"
    " those of head i.",
    UP_KEY="{UP_KEY}.flip(0)",
)
BANK.variant("another-heads-keys-when-absorbed", UP_KEY="{UP_KEY}.roll(1, 0)")
mistake(
    "another-heads-values-when-absorbed",
    "In `absorbed` what a head found is multiplied by the value matrix of another head: rows i · head_dim and on are"
    " those of head i.",
    UP_VALUE="{UP_VALUE}.flip(0)",
)
mistake(
    "one-matrix-for-all-heads",
    "In `absorbed` all heads use the key matrix of the first: rows i · head_dim and on are those of head i.",
    UP_KEY="{UP_KEY}[:1]",
)
mistake(
    "features-of-heads-interleaved",
    "In `absorbed` the rows of the weights are dealt out to the heads one by one: head i owns a contiguous block of"
    " them, so view them as (h, head_dim, latent).",
    UP_KEY="self.W_up_key.weight.view(self.head_dim, self.num_heads, -1).transpose(0, 1)",
    UP_VALUE="self.W_up_value.weight.view(self.head_dim, self.num_heads, -1).transpose(0, 1)",
)
mistake(
    "weight-read-as-its-transpose",
    "In `absorbed` the weight is viewed as if it were (latent, h · head_dim), which mixes its rows: `nn.Linear` keeps"
    " (outputs, inputs), so the first dimension is that of the heads.",
    UP_KEY="self.W_up_key.weight.reshape(-1, self.num_heads, self.head_dim).permute(1, 2, 0)",
    UP_VALUE="self.W_up_value.weight.reshape(-1, self.num_heads, self.head_dim).permute(1, 2, 0)",
)
mistake(
    "key-and-value-matrices-exchanged",
    "In `absorbed` the matrices for keys and for values have changed places: those for keys go to the queries.",
    UP_KEY="self.W_up_value.weight.view(self.num_heads, self.head_dim, -1)",
    UP_VALUE="self.W_up_key.weight.view(self.num_heads, self.head_dim, -1)",
)
mistake(
    "one-matrix-for-keys-and-values",
    "In `absorbed` the matrix for keys also serves for the values: what was found goes through `W_up_value`.",
    FOUND="weights @ latent @ up_key.transpose(1, 2)",
)
mistake(
    "not-transposed-after-the-average",
    "The value matrices are not transposed, (h, head_dim, latent) as they are: what was found has the width of the"
    " latent vectors, so they come as (h, latent, head_dim).",
    FOUND="weights @ latent @ up_value",
)
mistake(
    "latent-vectors-not-for-all-heads",
    "The latent vectors (b, t, latent) meet tensors with a dimension of heads, and line up with it by the batch: give"
    " them one of size 1, (b, 1, t, latent).",
    LATENTS="self.W_down(x)",
    ASKED="queries @ up_key @ latent.transpose(1, 2)",
)
mistake(
    "absorbed-once-for-all",
    "The matrices for `absorbed` are stored in the constructor, so that weights which are learnt or loaded later have"
    " no effect there: take them from the layers in each call.",
    OUT_LAYER="{OUT_LAYER}\n"
    '        self.register_buffer("up_keys", self.W_up_key.weight.detach().clone(), persistent=False)',
    UP_KEY="self.up_keys.view(self.num_heads, self.head_dim, -1)",
)
mistake(
    "weights-detached-when-absorbed",
    "In `absorbed` the weights of `W_up_key` or `W_up_value` are cut out of the graph (`.data`, `detach`), so they"
    " never learn: use them as they are.",
    UP_KEY="self.W_up_key.weight.data.view(self.num_heads, self.head_dim, -1)",
    UP_VALUE="self.W_up_value.weight.data.view(self.num_heads, self.head_dim, -1)",
)
mistake(
    "latent-vectors-detached-when-absorbed",
    "In `absorbed` the latent vectors are cut out of the graph, so that `W_down` never learns.",
    LATENTS="self.W_down(x).detach()[:, None]",
)
mistake(
    "projection-forgotten-when-absorbed",
    "In `absorbed` what the heads have found is not projected: `out_proj` comes last, as in forward.",
    ABSORBED_END="F.pad(found.transpose(1, 2).flatten(2), (0, x.shape[-1] - found.shape[1] * found.shape[3]))",
)
mistake(
    "returns-nothing-when-absorbed",
    "`absorbed` has no `return`, so it gives None: return the projected output.",
    {"return self.out_proj(found.transpose(1, 2).flatten(2))": "self.out_proj(found.transpose(1, 2).flatten(2))"},
)

# --- scale ----------------------------------------------------------------------------------------

mistake(
    "scale-by-latent-dim",
    "Scores are divided by the root of latent_dim: it is the width of a key that counts, head_dim.",
    SCALE=" / self.W_down.out_features**0.5",
)
mistake(
    "scale-by-latent-dim-when-absorbed",
    "In `absorbed` scores are divided by the root of latent_dim, the width of the vectors that are multiplied there:"
    " they are the same scores as in forward, so the scale is still 1/√head_dim.",
    ASKED="queries @ up_key @ latent.transpose(2, 3) * (self.head_dim / latent.shape[-1]) ** 0.5",
)
mistake("no-scale", says("no-scale", WIDTH="head_dim"), SCALE="")
mistake(
    "no-scale-when-absorbed",
    "In `absorbed` scores are not divided by anything: they are the same scores as in forward, so divide them by the"
    " root of head_dim.",
    ASKED="queries @ up_key @ latent.transpose(2, 3) * self.head_dim**0.5",
)
mistake(
    "scale-without-root",
    says("scale-without-root", WIDTH="head_dim"),
    SCALE=" / self.head_dim",
)
mistake(
    "scale-by-all-heads",
    says("scale-by-all-heads", WIDTH="the width of one head"),
    SCALE=" / (self.num_heads * self.head_dim) ** 0.5",
)
mistake(
    "scale-by-d-model",
    "Scores are divided by the root of d_model, the width of the input: it is the width of a key that counts,"
    " head_dim.",
    SCALE=" / self.W_query.in_features**0.5",
)

# --- the mask -------------------------------------------------------------------------------------

mistake(
    "not-causal-when-absorbed",
    "`absorbed` has no causal mask, so that tokens see later ones: hide these as in forward.",
    ABSORBED_WEIGHTS="weights = ({ASKED} / self.head_dim**0.5).softmax(dim=-1)",
)
mistake(
    "not-causal-in-forward",
    "`forward` has no causal mask, so that tokens see later ones: hide these as in `absorbed`.",
    WEIGHTS="weights = ({SCORES} / self.head_dim**0.5).softmax(dim=-1)",
)
mistake(
    "not-causal",
    says("not-causal"),
    HIDE="",
)
mistake(
    "future-seen",
    says("future-seen"),
    TRIANGLE=".triu()",
)
mistake("one-step-ahead", says("one-step-ahead"), TRIANGLE=".tril(1)")
mistake(
    "itself-hidden",
    says("itself-hidden"),
    TRIANGLE=".tril(-1)",
)
mistake(
    "mask-after-softmax",
    says("mask-after-softmax", SCORED="scores"),
    HIDE="",
    SOFTMAX=".softmax(dim=-1) * past",
)
mistake(
    "mask-fills-with-ten-thousand",
    says("mask-fills-with-ten-thousand", SCORED="scores", AND_WHERE_EMPTY=""),
    FILL="-1e4",
)
mistake(
    "mask-on-the-cpu",
    says("mask-on-the-cpu", WHAT="the scores"),
    {", device=products.device": ""},
)
mistake(
    "softmax-over-queries",
    says("softmax-over-queries"),
    SOFTMAX=".softmax(dim=-2).nan_to_num()",
)

# --- layers, heads --------------------------------------------------------------------------------

mistake(
    "with-biases",
    says("with-biases"),
    W_QUERY="self.W_query = nn.Linear(d_model, num_heads * head_dim)",
    W_DOWN="self.W_down = nn.Linear(d_model, latent_dim)",
    W_UP_KEY="self.W_up_key = nn.Linear(latent_dim, num_heads * head_dim)",
    W_UP_VALUE="self.W_up_value = nn.Linear(latent_dim, num_heads * head_dim)",
)
mistake(
    "projection-with-a-bias",
    "`out_proj` has a bias: here it has none.",
    OUT_LAYER="self.out_proj = nn.Linear(num_heads * head_dim, d_model)",
)
mistake(
    "head-dim-from-d-model",
    "The width of a head is taken to be d_model / num_heads: it is the argument `head_dim`.",
    W_QUERY="head_dim = d_model // num_heads\n        self.head_dim = head_dim\n        {W_QUERY}",
)
mistake(
    "a-latent-vector-for-each-head",
    "There is a latent vector for each head: it is one for all heads, which is what makes the cache small.",
    W_DOWN="latent_dim = latent_dim * num_heads\n        {W_DOWN}",
)
mistake(
    "values-from-the-key-layer",
    "The values are made by `W_up_key`: they have a layer of their own, `W_up_value`.",
    VALUES="self.W_up_key(latent).view(b, t, self.num_heads, -1).transpose(1, 2)",
    UP_VALUE="self.W_up_key.weight.view(self.num_heads, self.head_dim, -1)",
)
mistake(
    "keys-as-values",
    says("keys-as-values", within="forward"),
    MIX="weights @ keys",
)
mistake(
    "reshaped-in-one-step",
    says("reshaped-in-one-step", within="forward"),
    KEYS="self.W_up_key(latent).view(b, self.num_heads, t, -1)",
    VALUES="self.W_up_value(latent).view(b, self.num_heads, t, -1)",
)
mistake(
    "merged-without-transposing",
    says("merged-without-transposing", within="forward"),
    END="self.out_proj((weights @ values).reshape(b, t, -1))",
)
mistake(
    "merged-without-transposing-when-absorbed",
    "In `absorbed` the heads are merged without swapping tokens and heads back first, which mixes tokens with"
    " features.",
    ABSORBED_END="self.out_proj(found.reshape(b, t, -1))",
)
mistake(
    "latent-vectors-bent",
    "The latent vectors go through a nonlinear function, so that no matrix could be absorbed: keys and values are"
    " linear in them.",
    LATENT="latent = self.W_down(x).tanh()",
    LATENTS="self.W_down(x).tanh()[:, None]",
)

mistake(
    "latent-vectors-normalised",
    "The latent vectors go through a norm, as in DeepSeek's code: here nothing stands between `W_down` and the layers"
    " that read them.",
    W_DOWN="{W_DOWN}\n        self.norm = nn.RMSNorm(latent_dim)",
    LATENT="latent = self.norm(self.W_down(x))",
    LATENTS="self.norm(self.W_down(x))[:, None]",
)

# --- the rest -------------------------------------------------------------------------------------

mistake(
    "rank-not-checked",
    says("rank-not-checked", WHAT="an input that is not (b, t, d_model)", DIMS="`x.dim()`"),
    FORWARD=FORWARD.replace("b, t, _ = x.shape", "b, t = x.shape[0], x.shape[-2]"),
    ABSORBED=ABSORBED.replace("b, t, _ = x.shape", "b, t = x.shape[0], x.shape[-2]"),
)
mistake(
    "float32-comes-out",
    says("float32-comes-out"),
    END="self.out_proj((weights @ values).transpose(1, 2).flatten(2)).float()",
    ABSORBED_END="self.out_proj(found.transpose(1, 2).flatten(2)).float()",
)
mistake(
    "softmax-in-float32",
    says("softmax-in-float32"),
    SOFTMAX=".float().softmax(dim=-1).to(products.dtype)",
)
mistake(
    "exp-without-max",
    says("exp-without-max", SCORED="scores"),
    {"return (products": "powers = (products"},
    SOFTMAX=".exp()\n        return powers / powers.sum(dim=-1, keepdim=True)",
)
mistake(
    "weights-detached",
    says("weights-detached"),
    SOFTMAX=".softmax(dim=-1).detach()",
)
mistake(
    "input-changed",
    says("input-changed", X="x"),
    ABSORBED="{ABSORBED}\n        x = x if x.requires_grad else x.mul_(2) / 2",
)
mistake(
    "returns-a-pair",
    says("returns-a-pair"),
    END="{END}, latent",
)
BANK.share(attention.CONSTRUCTOR)
forms.add_to(BANK)
