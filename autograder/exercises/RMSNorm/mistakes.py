"""What goes wrong in `RMSNorm(d, eps=1e-6)`, as edits of the course's own answer."""

from ...mistakes.bank import Bank
from ...mistakes.prices import ALL
from ...mistakes.signs import takes_root
from ..families.wordings import says

BANK = Bank(
    "RMSNorm",
    places={
        "SIGNATURE": "d, eps=1e-6):",
        "KEEP_EPS": "self.eps = eps",
        "WEIGHT": "self.weight = nn.Parameter(torch.ones(d))",
        "WIDEN": "x.to(torch.promote_types(x.dtype, torch.float32))",
        "MEAN": "wide.square().mean(dim=-1, keepdim=True)",
        "NORMED": "wide / (mean + self.eps).sqrt()",
        "ROOT": "(mean + self.eps).sqrt()",
        "RETURN": "return normed.to(x.dtype) * self.weight",
    },
    seen_on_a_gpu="sum-for-mean",
)
mistake = BANK.mistake

# --- what each token is divided by ----------------------------------------------------------------

mistake(
    "sum-for-mean",
    "These are the values you get when a token is divided by its length, the root of the sum of its squares: divide by"
    " the root of their mean, which does not grow with d.",
    MEAN="wide.square().sum(dim=-1, keepdim=True)",
)
mistake(
    "length-over-d",
    "These are the values you get when the length of a token is divided by d: the root of the mean is the length"
    " divided by the root of d.",
    NORMED="wide / (wide.norm(dim=-1, keepdim=True) / x.shape[-1] + self.eps)",
)
mistake(
    "mean-subtracted",
    "These are the values of LayerNorm, which subtracts the mean of each token first: RMSNorm leaves it where it is.",
    WIDEN="{WIDEN}\n        wide = wide - wide.mean(dim=-1, keepdim=True)",
)
mistake(
    "variance-for-mean-square",
    "Each token is divided by its standard deviation, around its mean: take the mean of the squares of the numbers as"
    " they are.",
    MEAN="wide.var(dim=-1, keepdim=True, unbiased=False)",
)
mistake(
    "sample-variance",
    "Each token is divided by the square root of `var`, which subtracts the mean and divides by d − 1: take the mean of"
    " the squares.",
    MEAN="wide.var(dim=-1, keepdim=True)",
)
mistake(
    "sample-layernorm",
    "These are the values of a LayerNorm by `mean` and `std`, which divides by d − 1: nothing is subtracted here, and"
    " the squares are divided by d.",
    WIDEN="{WIDEN}\n        wide = wide - wide.mean(dim=-1, keepdim=True)",
    MEAN="wide.var(dim=-1, keepdim=True)",
)
mistake(
    "mean-of-sizes",
    "These are the values you get when a token is divided by the mean of its absolute values: it is the root of the"
    " mean of the squares.",
    MEAN="wide.abs().mean(dim=-1, keepdim=True) ** 2",
)
BANK.variant("mean-of-sizes", MEAN="wide.abs().mean(dim=-1, keepdim=True)", ROOT="(mean + self.eps)")
mistake(
    "mean-squared",
    "These are the values you get when the square of the mean is taken in place of the mean of the squares: square"
    " first.",
    MEAN="wide.mean(dim=-1, keepdim=True).square()",
)
mistake(
    "largest-for-mean",
    "These are the values you get when each token is divided by its largest number: it is the root of the mean of the"
    " squares.",
    MEAN="wide.square().amax(dim=-1, keepdim=True)",
)
mistake(
    "root-forgotten",
    "These are the values you get when each token is divided by the mean of its squares: take the root of that first.",
    ROOT="(mean + self.eps)",
)
mistake(
    "multiplied-by-the-root",
    "These are the values you get when each token is multiplied by the root of the mean of its squares: divide by it,"
    " or multiply by `rsqrt`.",
    NORMED="wide * {ROOT}",
)
mistake(
    "root-detached",
    "The root of the mean is cut out of the graph: it depends on the input, too, so its gradient counts.",
    ROOT="{ROOT}.detach()",
)
mistake(
    "input-detached",
    says("input-detached"),
    WIDEN="x.detach().to(torch.promote_types(x.dtype, torch.float32))",
)

# --- eps ------------------------------------------------------------------------------------------

mistake(
    "eps-outside-the-root",
    "`eps` is added to the root of the mean: add it to the mean, under the root. For small tokens that is far from the"
    " same.",
    ROOT="(mean.sqrt() + self.eps)",
    sign=takes_root,
)
mistake(
    "eps-added-afterwards",
    "`eps` is added to what comes out: it belongs to the mean, under the root, where it keeps 0 from being divided"
    " by 0.",
    NORMED="wide / mean.sqrt() + self.eps",
)
mistake(
    "eps-left-out",
    "`eps` is not added to the mean, so that a token of zeros is divided by 0.",
    ROOT="mean.sqrt()",
)
mistake(
    "eps-as-a-floor",
    "`eps` is the least that the mean can be: it should be added to the mean, whatever that is.",
    ROOT="mean.clamp(min=self.eps).sqrt()",
)
mistake(
    "eps-squared",
    "The square of `eps` is added under the root: add `eps` itself.",
    ROOT="(mean + self.eps**2).sqrt()",
)
mistake(
    "eps-subtracted",
    "`eps` is subtracted from the mean: add it.",
    ROOT="(mean - self.eps).sqrt()",
)
mistake(
    "eps-ignored",
    "The `eps` that is passed in makes no difference: keep it in the constructor, and add that.",
    KEEP_EPS="self.eps = 1e-6",
)
mistake(
    "eps-of-1e-5",
    "`eps` is 1e-5 where none is given: the default is 1e-6.",
    SIGNATURE="d, eps=1e-5):",
)
mistake(
    "eps-of-1e-8",
    "`eps` is 1e-8 where none is given: the default is 1e-6.",
    SIGNATURE="d, eps=1e-8):",
)
mistake(
    "eps-not-taken",
    "The constructor has no argument `eps`: it takes `d`, and `eps=1e-6`.",
    SIGNATURE="d):",
    KEEP_EPS="self.eps = 1e-6",
)
mistake(
    "torchs-normalize",
    "`F.normalize` divides by the length and leaves `eps` out unless a token is nearly 0: divide by √(mean + eps).",
    NORMED="F.normalize(wide, dim=-1) * x.shape[-1] ** 0.5",
)

# --- the weight -----------------------------------------------------------------------------------

mistake(
    "weight-missing",
    "There is no parameter `weight`: it is missing, has another name, or is a plain tensor. Make it an `nn.Parameter`"
    " of that name, so that it can learn.",
    WEIGHT="pass",
    RETURN="return normed.to(x.dtype)",
)
BANK.variant("weight-missing", WEIGHT="self.weight = torch.ones(d)")
BANK.variant("weight-missing", WEIGHT="self.weight = torch.ones(d)", RETURN="return (normed * self.weight).to(x.dtype)")
mistake(
    "weight-never-used",
    "`weight` is made and never used: multiply the normed tokens by it.",
    RETURN="return normed.to(x.dtype)",
)
mistake(
    "weight-of-zeros",
    "`weight` is 0 at first, so that a new module gives nothing but 0: start with ones.",
    WEIGHT="self.weight = nn.Parameter(torch.zeros(d))",
)
mistake(
    "weight-by-chance",
    "`weight` starts with random numbers: start with ones.",
    WEIGHT="self.weight = nn.Parameter(torch.randn(d))",
)
mistake(
    "one-number-for-all",
    "`weight` is a single number: each of the d features has one of its own.",
    WEIGHT="self.weight = nn.Parameter(torch.ones(1))",
)
mistake(
    "weight-in-more-dimensions",
    "`weight` has more than one dimension: its shape is (d,), which fits to any input.",
    WEIGHT="self.weight = nn.Parameter(torch.ones(1, 1, d))",
)
mistake(
    "one-plus-weight",
    "The output is multiplied by 1 + `weight`, as in Gemma: here it is `weight` itself, which is 1 at first.",
    WEIGHT="self.weight = nn.Parameter(torch.zeros(d))",
    RETURN="return normed.to(x.dtype) * (1 + self.weight)",
)
BANK.variant("one-plus-weight", RETURN="return normed.to(x.dtype) * (1 + self.weight)")
mistake(
    "weight-added",
    "`weight` is added to the normed tokens: multiply them by it.",
    RETURN="return normed.to(x.dtype) + self.weight",
)
mistake(
    "divided-by-the-weight",
    "The normed tokens are divided by `weight`: multiply them by it.",
    RETURN="return normed.to(x.dtype) / self.weight",
)
mistake(
    "bias-added",
    "There is a bias, as in LayerNorm: RMSNorm has `weight` alone.",
    WEIGHT="{WEIGHT}\n        self.bias = nn.Parameter(torch.zeros(d))",
    RETURN="{RETURN} + self.bias",
)
mistake(
    "weight-before-the-norm",
    "The tokens are multiplied by `weight` before they are normed: norm first.",
    WIDEN="(x * self.weight).to(torch.promote_types(x.dtype, torch.float32))",
    RETURN="return normed.to(x.dtype)",
)

# --- what the mean runs over ----------------------------------------------------------------------

mistake(
    "over-the-whole-sequence",
    "The mean runs over all tokens of a sequence: each token has its own, over its features, `dim=-1`.",
    MEAN="wide.square().mean(dim=tuple(range(max(wide.dim() - 2, 0), wide.dim())), keepdim=True)",
)
mistake(
    "over-everything",
    "The mean runs over the whole tensor: each token has its own, over its features, `dim=-1`.",
    MEAN="wide.square().mean()",
)
mistake(
    "over-the-tokens",
    "The mean runs over the tokens of a sequence, feature by feature: the features are the last dimension, `dim=-1`.",
    MEAN="wide.square().mean(dim=-2, keepdim=True)",
)
mistake(
    "over-dimension-0",
    "The mean runs over the first dimension: the features are the last, `dim=-1`.",
    MEAN="wide.square().mean(dim=0, keepdim=True)",
)
mistake(
    "over-dimension-1",
    "The mean runs over dimension 1, which is not the last one of every input: count from the end, `dim=-1`.",
    MEAN="wide.square().mean(dim=1, keepdim=True)",
)
mistake(
    "over-dimension-2",
    "The mean runs over dimension 2, which is the last one of a batch only: count from the end, `dim=-1`.",
    MEAN="wide.square().mean(dim=2, keepdim=True)",
)
mistake(
    "over-heads-and-features",
    "The mean runs over every dimension but the first: it is the last one alone, `dim=-1`, whatever stands before it.",
    MEAN="wide.square().flatten(1).mean(dim=1).view(-1, *[1] * (wide.dim() - 1))",
)
mistake(
    "keepdim-forgotten",
    says("keepdim-forgotten"),
    MEAN="wide.square().mean(dim=-1)",
)
mistake(
    "only-batches",
    "The shape is unpacked into three sizes, so that nothing but a batch (b, t, d) works: any number of dimensions may"
    " stand before the last one.",
    WIDEN="{WIDEN}\n        b, t, d = x.shape",
)
mistake(
    "squeezed",
    says("squeezed", SUCH="a batch of one"),
    RETURN="return (normed.to(x.dtype) * self.weight).squeeze()",
)
mistake(
    "view-of-the-input",
    says("view-of-the-input"),
    WIDEN="x.view(-1, x.shape[-1]).view(x.shape).to(torch.promote_types(x.dtype, torch.float32))",
)

# --- dtypes, devices, what is left behind ---------------------------------------------------------

mistake(
    "mean-in-half-precision",
    "The squares are taken in the input's own dtype: in float16 the square of 300 is infinite, and that of 0.0001 is 0."
    " Go to float32 before you square.",
    WIDEN="x",
)
BANK.variant("mean-in-half-precision", MEAN="x.square().mean(dim=-1, keepdim=True)")
BANK.variant("mean-in-half-precision", MEAN="x.square().to(wide.dtype).mean(dim=-1, keepdim=True)")
mistake(
    "float32-comes-out",
    says("float32-comes-out"),
    RETURN="return normed * self.weight",
)
mistake(
    "through-float32",
    says("through-float32"),
    WIDEN="x.float()",
)
mistake(
    "float32-always",
    "It goes to float32 and stays there, whatever goes in: the output has the dtype of the input.",
    WIDEN="x.float()",
    RETURN="return normed * self.weight.float()",
)
mistake(
    "float64-comes-out",
    says("float64-comes-out"),
    WIDEN="x.double()",
    RETURN="return normed * self.weight",
)
mistake(
    "changed-in-place",
    "The input is divided in place: for an input in float32, `.float()` and `.to()` give that very tensor and no copy."
    " Make a new tensor.",
    NORMED="wide.data.div_({ROOT})",
)
mistake(
    "divided-with-an-equals-sign",
    "`/=` and `*=` change the input itself where it is float32 already, since `.float()` and `.to()` make no copy then;"
    " torch also refuses it where a gradient is wanted. Write it without the `=`.",
    NORMED="wide\n        normed /= {ROOT}",
)
BANK.variant("divided-with-an-equals-sign", WIDEN="x.float()", NORMED="wide.mul_((mean + self.eps).rsqrt())")
mistake(
    "eps-on-the-cpu",
    "A tensor is made on the CPU, wherever the input lies: `eps` can stay a Python number.",
    KEEP_EPS="self.eps = torch.tensor([eps])",
)
mistake(
    "remembers-the-first-mean",
    "The root of an earlier input is kept and used again: compute it again in each call.",
    NORMED="wide / self.root(wide)",
    RETURN="""{RETURN}

    def root(self, wide):
        if not hasattr(self, "kept") or self.kept.shape[:-1] != wide.shape[:-1]:
            self.kept = (wide.square().mean(dim=-1, keepdim=True) + self.eps).sqrt()
        return self.kept""",
)
mistake(
    "returns-nothing",
    says("returns-nothing", WHAT="the output"),
    price=ALL,
    RETURN="normed.to(x.dtype) * self.weight",
)
mistake(
    "returns-the-root-as-well",
    "It returns the root or the mean as well: the normed tokens alone are asked for.",
    RETURN="{RETURN}, mean",
)
