"""What goes wrong in `SwiGLU(d, hidden)`, as edits of the course's own answer."""

from ...mistakes.bank import Bank
from ...mistakes.prices import ALL, PRICES
from ..families.wordings import says

BANK = Bank(
    "SwiGLU",
    places={
        "SUPER": "super().__init__()",
        "W_GATE": "self.W_gate = nn.Linear(d, hidden, bias=False)",
        "W_UP": "self.W_up = nn.Linear(d, hidden, bias=False)",
        "W_DOWN": "self.W_down = nn.Linear(hidden, d, bias=False)",
        "GATE": "F.silu(self.W_gate(x))",
        "PRODUCT": "gate * self.W_up(x)",
        "RETURN": "return self.W_down(gate * self.W_up(x))",
    },
    seen_on_a_gpu="gate-on-the-wrong-half",
)
mistake = BANK.mistake

# --- the gate -------------------------------------------------------------------------------------

mistake(
    "gate-on-the-wrong-half",
    "These are the values you get when the SiLU is applied to `W_up(x)`: it belongs to `W_gate(x)`.",
    GATE="self.W_gate(x)",
    PRODUCT="gate * F.silu(self.W_up(x))",
)
mistake(
    "silu-on-both",
    "These are the values you get when the SiLU is applied to both halves: `W_up(x)` passes as it is.",
    PRODUCT="gate * F.silu(self.W_up(x))",
)
mistake(
    "silu-of-the-product",
    "These are the values you get when the SiLU is applied to the product of both halves: apply it to `W_gate(x)`, then"
    " multiply.",
    GATE="self.W_gate(x)",
    PRODUCT="F.silu(gate * self.W_up(x))",
)
mistake(
    "sigmoid-gate",
    "These are the values you get with a sigmoid for the gate, as in the first gated units: SiLU is z · σ(z).",
    GATE="torch.sigmoid(self.W_gate(x))",
)
mistake(
    "gelu-gate",
    "These are the values of a GEGLU, whose gate is a GELU: here it is the SiLU, z · σ(z).",
    GATE="F.gelu(self.W_gate(x))",
)
BANK.variant("gelu-gate", GATE='F.gelu(self.W_gate(x), approximate="tanh")')
mistake(
    "quick-gelu",
    "The gate is z · σ(1.702 z), which imitates GELU: SiLU is z · σ(z), without a factor.",
    GATE="(self.W_gate(x) * torch.sigmoid(1.702 * self.W_gate(x)))",
)
mistake(
    "relu-gate",
    "These are the values of a ReGLU, whose gate is a ReLU: here it is the SiLU, z · σ(z).",
    GATE="F.relu(self.W_gate(x))",
)
mistake(
    "tanh-gate",
    "These are the values you get with tanh for the gate: it is the SiLU, z · σ(z).",
    GATE="torch.tanh(self.W_gate(x))",
)
mistake(
    "softplus-gate",
    "These are the values you get with softplus for the gate: it is the SiLU, z · σ(z).",
    GATE="F.softplus(self.W_gate(x))",
)
mistake(
    "mish-gate",
    "These are the values you get with Mish for the gate, which looks much like SiLU: that is z · σ(z).",
    GATE="F.mish(self.W_gate(x))",
)
mistake(
    "hard-swish",
    "The gate is the hard swish, which is made of straight lines: SiLU is z · σ(z).",
    GATE="F.hardswish(self.W_gate(x))",
)
mistake(
    "softmax-gate",
    "The gate is a softmax over the hidden numbers: it is the SiLU, z · σ(z), of each of them by itself.",
    GATE="F.softmax(self.W_gate(x), dim=-1)",
)
mistake(
    "no-activation",
    "These are the values of the bare product of both halves: the SiLU of `W_gate(x)` is missing.",
    GATE="self.W_gate(x)",
)
mistake(
    "gate-added",
    says("gate-added"),
    PRODUCT="gate + self.W_up(x)",
)
mistake(
    "up-left-out",
    "`W_up` has no part in the output, as in a plain network of two layers: multiply the gate by `W_up(x)`.",
    PRODUCT="gate",
)
mistake(
    "gate-left-out",
    "`W_gate` has no part in the output: it is `W_gate(x)` that the SiLU is applied to.",
    GATE="F.silu(self.W_up(x))",
)
mistake(
    "up-in-both-places",
    "`W_gate` makes both halves, and `W_up` has no part in the output: multiply the gate by `W_up(x)`.",
    PRODUCT="gate * self.W_gate(x)",
)
mistake(
    "gate-detached",
    says("gate-detached"),
    GATE="{GATE}.detach()",
)
mistake(
    "silu-by-hand",
    "The quotient z / (1 + exp(−z)) is right as far as exp reaches: for very negative z the gradient is NaN. Write"
    " z · σ(z) with `torch.sigmoid`, or `F.silu`.",
    GATE="(self.W_gate(x) / (1 + torch.exp(-self.W_gate(x))))",
)
mistake(
    "sigmoid-by-exponentials",
    "The sigmoid is written as exp(z) / (1 + exp(z)), which is infinity by infinity, and so NaN, for large z: use"
    " `torch.sigmoid`, or `F.silu`.",
    GATE="(self.W_gate(x) * self.W_gate(x).exp() / (1 + self.W_gate(x).exp()))",
)
mistake(
    "gate-clamped",
    "The gate's numbers are limited to a range, so that large ones come out wrong and get no gradient: leave them as"
    " they are.",
    GATE="F.silu(self.W_gate(x).clamp(-50, 50))",
)

# --- the layers -----------------------------------------------------------------------------------

mistake(
    "one-fused-layer",
    "One layer makes both halves: here `W_gate` and `W_up` are two layers, so that weights can be loaded by name.",
    W_GATE="self.W_gate_up = nn.Linear(d, 2 * hidden, bias=False)",
    W_UP="",
    GATE="F.silu(self.W_gate_up(x).chunk(2, dim=-1)[0])",
    PRODUCT="gate * self.W_gate_up(x).chunk(2, dim=-1)[1]",
)
mistake(
    "names-of-llama",
    says("names-of-llama", NAMES="`W_gate`, `W_up` and `W_down`"),
    price=PRICES["arguments"],
    W_GATE="self.gate_proj = nn.Linear(d, hidden, bias=False)",
    W_UP="self.up_proj = nn.Linear(d, hidden, bias=False)",
    W_DOWN="self.down_proj = nn.Linear(hidden, d, bias=False)",
    GATE="F.silu(self.gate_proj(x))",
    RETURN="return self.down_proj(gate * self.up_proj(x))",
)
mistake(
    "layers-made-in-forward",
    "No layers are kept in the module, so nothing learns: make them in `__init__`, as its attributes.",
    W_GATE="self.sizes = d, hidden",
    W_UP="",
    GATE="F.silu(nn.Linear(*self.sizes, bias=False)(x))",
    PRODUCT="gate * nn.Linear(*self.sizes, bias=False)(x)",
)
mistake(
    "layers-shared",
    "`W_gate` and `W_up` are one and the same layer: each half has weights of its own.",
    W_UP="self.W_up = self.W_gate",
)
mistake(
    "biases",
    "The layers have biases, which `nn.Linear` makes unless it is told not to: `bias=False` for all three.",
    W_GATE="self.W_gate = nn.Linear(d, hidden)",
    W_UP="self.W_up = nn.Linear(d, hidden)",
    W_DOWN="self.W_down = nn.Linear(hidden, d)",
)
mistake(
    "bias-of-the-gate",
    "`W_gate` has a bias: none of the three layers should, `bias=False`.",
    W_GATE="self.W_gate = nn.Linear(d, hidden)",
)
mistake(
    "bias-on-the-way-up",
    "`W_gate` and `W_up` have biases: none of the three layers should, `bias=False`.",
    W_GATE="self.W_gate = nn.Linear(d, hidden)",
    W_UP="self.W_up = nn.Linear(d, hidden)",
)
mistake(
    "bias-on-the-way-down",
    "`W_down` has a bias: none of the three layers should, `bias=False`.",
    W_DOWN="self.W_down = nn.Linear(hidden, d)",
)
mistake(
    "w-down-missing",
    "There is no `W_down`: the product, hidden numbers wide, has to come back to d.",
    W_DOWN="",
    RETURN="return {PRODUCT}",
)
mistake(
    "w-down-never-used",
    "`W_down` is made and never used: it brings the product back from hidden numbers to d.",
    RETURN="return {PRODUCT}",
)
mistake(
    "two-thirds",
    "The layers are two thirds of `hidden` wide, as Llama's code makes them: here `hidden` is the width itself.",
    SUPER="{SUPER}\n        hidden = int(2 * hidden / 3)",
)
mistake(
    "four-times-d",
    "The hidden width is 4 · d whatever `hidden` says: use the argument.",
    SUPER="{SUPER}\n        hidden = 4 * d",
)
mistake(
    "sizes-swapped",
    "The sizes of a layer are swapped: `nn.Linear` takes what goes in, then what comes out, so it is (d, hidden) up and"
    " (hidden, d) down.",
    W_GATE="self.W_gate = nn.Linear(hidden, d, bias=False)",
    W_UP="self.W_up = nn.Linear(hidden, d, bias=False)",
    W_DOWN="self.W_down = nn.Linear(d, hidden, bias=False)",
)
mistake(
    "super-forgotten",
    says("super-forgotten"),
    SUPER="pass",
)

# --- what comes out -------------------------------------------------------------------------------

mistake(
    "input-added",
    says("input-added"),
    RETURN="{RETURN} + x",
)
mistake(
    "normed-first",
    "The input is normed first: that is the block's work, not the network's.",
    GATE="F.silu(self.W_gate(x := F.rms_norm(x, x.shape[-1:])))",
)
mistake(
    "dropout-added",
    says("dropout-added"),
    PRODUCT="F.dropout({PRODUCT}, 0.1, self.training)",
)
mistake(
    "activation-at-the-end",
    "The output goes through a SiLU as well: `W_down` is the last step.",
    RETURN="return F.silu(self.W_down({PRODUCT}))",
)
mistake(
    "averaged-over-the-tokens",
    "The hidden numbers are averaged over the tokens: each token is computed for itself.",
    PRODUCT="(gate * self.W_up(x)).mean(dim=-2, keepdim=True).expand_as(gate)",
)
mistake(
    "only-batches",
    "The shape is unpacked into three sizes, so that nothing but a batch (b, t, d) works: any number of dimensions may"
    " stand before the last one.",
    GATE="{GATE}\n        b, t, d = x.shape",
)
mistake(
    "flattened",
    "The output has lost the dimensions before the last one: it has the shape of the input.",
    RETURN="{RETURN}.flatten(0, -2)",
)
mistake(
    "view-of-the-input",
    says("view-of-the-input"),
    GATE="F.silu(self.W_gate(x.view(-1, x.shape[-1]).view(x.shape)))",
)
mistake(
    "float32-comes-out",
    says("float32-comes-out"),
    RETURN="return self.W_down({PRODUCT}).float()",
)
mistake(
    "through-float32",
    says("through-float32"),
    GATE="F.silu(self.W_gate(x).float()).to(x.dtype)",
)
mistake(
    "gate-left-in-float32",
    "The gate is turned to float32 and left there, so that the product does not fit to a `W_down` of another dtype:"
    " turn it back.",
    GATE="F.silu(self.W_gate(x).float())",
)
mistake(
    "ones-on-the-cpu",
    "A tensor is made on the CPU and in float32, wherever the input lies: `F.silu` needs none.",
    GATE="(self.W_gate(x) * torch.sigmoid(self.W_gate(x)) * torch.ones(1, dtype=x.dtype))",
)
mistake(
    "input-changed-in-place",
    says("input-changed", X="x"),
    RETURN="found = self.W_down({PRODUCT})\n        x.data.copy_(found)\n        return found",
)
mistake(
    "returns-nothing",
    says("returns-nothing", WHAT="the output"),
    price=ALL,
    RETURN="self.W_down({PRODUCT})",
)
mistake(
    "returns-the-gate-as-well",
    "It returns the gate as well: one tensor is asked for.",
    RETURN="{RETURN}, gate",
)
