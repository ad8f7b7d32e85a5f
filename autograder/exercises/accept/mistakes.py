"""What goes wrong in `accept(target, draft, token, chance)`, as edits of our own answer."""

from ...mistakes.bank import Bank
from ...mistakes.prices import ALL
from ..families.wordings import says

BANK = Bank(
    "accept",
    places={
        "KEPT": "bool(chance < target[token] / draft[token])",
        "RATIO": "target[token] / draft[token]",
        "MORE": "(target - draft).clamp(min=0)",
        "REMAINDER": "more / more.sum()",
        "RETURN": "return kept, remainder",
    },
    seen_on_a_gpu="remainder-is-the-target",
)
mistake, variant = BANK.mistake, BANK.variant

# --- kept or not ------------------------------------------------------------------------------------

mistake(
    "ratio-upside-down",
    "The ratio is upside down: the chance is compared with target/draft of the token.",
    RATIO="draft[token] / target[token]",
)
mistake(
    "refused-for-kept",
    "True and False are exchanged: `kept` is True where the chance is below target/draft.",
    KEPT="bool(chance >= {RATIO})",
)
mistake(
    "never-kept",
    "The token is never kept, so the draft is of no use: keep it where the chance is below target/draft.",
    KEPT="False",
)
mistake(
    "always-kept",
    "The draft's token is always kept, so what comes out has the draft's distribution: refuse it where the chance is"
    " not below target/draft.",
    price=ALL,
    KEPT="True",
)
variant("always-kept", KEPT="bool(draft[token] > 0)")
mistake(
    "chance-plays-no-part",
    "The chance plays no part: a token that the target likes less is refused always, though it should be kept with a"
    " probability of target/draft.",
    KEPT="bool(target[token] >= draft[token])",
)
variant("chance-plays-no-part", KEPT="bool(target[token] > draft[token])")
mistake(
    "likeliest-alone-kept",
    "A token is kept only if the target likes it best: that is greedy. Compare the chance with target/draft.",
    KEPT="bool(token == target.argmax())",
)
variant(
    "likeliest-alone-kept",
    KEPT="bool(token == target.argmax())",
    REMAINDER="(target == target.max()).to(target.dtype)",
)
mistake(
    "more-than-half-kept",
    "A token is kept where the ratio is above ½: the limit is the chance.",
    KEPT="bool({RATIO} > 0.5)",
)
mistake(
    "compared-with-the-target",
    "The chance is compared with the target's probability of the token: divide it by the draft's.",
    RATIO="target[token]",
)
mistake(
    "compared-with-the-draft",
    "The chance is compared with the draft's probability of the token: it is target/draft that counts.",
    RATIO="draft[token]",
)
mistake(
    "difference-for-ratio",
    "The difference of both probabilities is taken for their ratio: divide.",
    RATIO="1 + target[token] - draft[token]",
)
variant("difference-for-ratio", KEPT="bool(chance < target[token] - draft[token])")
mistake(
    "share-of-both",
    "The limit is target/(target + draft), which keeps too little: it is target/draft.",
    RATIO="target[token] / (target[token] + draft[token])",
)
mistake(
    "log-of-the-ratio",
    "The chance is compared with the logarithm of the ratio: compare it with the ratio.",
    RATIO="target[token].log() - draft[token].log()",
)
mistake(
    "root-of-the-ratio",
    "The limit is not target/draft but a power of it: nothing else than the ratio itself gives the target's"
    " distribution.",
    RATIO="(target[token] / draft[token]) ** 0.5",
)
variant("root-of-the-ratio", RATIO="(target[token] / draft[token]) ** 2")
mistake(
    "equal-chance-kept",
    "A chance equal to target/draft keeps the token, so a chance of 0 keeps what the target never says: it has to be"
    " below.",
    KEPT="bool(chance <= {RATIO})",
)
mistake(
    "ratios-of-all",
    "All tokens are compared, not the draft's alone: it is target/draft at `token` that counts.",
    KEPT="bool((chance < target / draft).all())",
)
mistake(
    "ratio-of-two-tokens",
    "The ratio is that of two tokens: take the target's probability and the draft's of the same one, `token`.",
    RATIO="target[token] / draft.max()",
)
variant("ratio-of-two-tokens", RATIO="target[token] / target.max()")
mistake(
    "softmax-again",
    "A softmax is taken of what are probabilities already: use target and draft as they come.",
    {"kept = ": "target, draft = target.softmax(dim=0), draft.softmax(dim=0)\n    kept = "},
)

# --- the remainder ----------------------------------------------------------------------------------

mistake(
    "remainder-is-the-target",
    "The remainder is the target itself, so what the draft says often comes too often: take off what the draft has"
    " already, max(0, target − draft).",
    REMAINDER="target.clone()",
)
variant("remainder-is-the-target", REMAINDER="target")
mistake(
    "remainder-is-the-draft",
    "The remainder is the draft's distribution: it is what the target has above the draft.",
    REMAINDER="draft.clone()",
)
mistake(
    "remainder-without-the-token",
    "The remainder is the target without the refused token: others that the draft says too often have to go, too, so"
    " take max(0, target − draft).",
    MORE="target * (torch.arange(len(target), device=target.device) != token)",
)
mistake(
    "remainder-not-normalised",
    "The remainder does not sum to 1, so it is no distribution: divide it by its sum.",
    REMAINDER="more",
)
mistake(
    "negative-remainders",
    "What the draft has more of becomes negative: set it to 0, max(0, target − draft), before you divide.",
    MORE="target - draft",
)
mistake(
    "cut-after-dividing",
    "The differences are divided by their sum, which is 0, before what is negative is set to 0: cut first.",
    MORE="target - draft",
    REMAINDER="(more / more.sum()).clamp(min=0)",
)
mistake(
    "absolute-differences",
    "The absolute differences are taken, so what the draft says too often comes even more often: negative"
    " ones become 0.",
    MORE="(target - draft).abs()",
)
mistake(
    "draft-minus-target",
    "The remainder is what the draft has above the target: it is what the target has above the draft.",
    MORE="(draft - target).clamp(min=0)",
)
mistake(
    "softmax-of-the-differences",
    "A softmax is taken of the differences, so even tokens that the draft says too often come: divide max(0, target −"
    " draft) by its sum.",
    REMAINDER="more.softmax(dim=0)",
)
variant("softmax-of-the-differences", MORE="target - draft", REMAINDER="more.softmax(dim=0)")
mistake(
    "divided-by-the-largest",
    "The remainder is divided by its largest entry: it has to sum to 1.",
    REMAINDER="more / more.max()",
)
variant("divided-by-the-largest", REMAINDER="more / more.norm()")
mistake(
    "target-where-it-is-larger",
    "The target's whole probability is left where it is above the draft's: only what is above it, target − draft.",
    MORE="target * (target > draft)",
)
mistake(
    "ratios-for-differences",
    "The remainder is made of ratios: it is made of differences, max(0, target − draft).",
    MORE="(target / draft - 1).clamp(min=0)",
)
mistake(
    "likeliest-of-the-remainder",
    "All of the remainder is given to its likeliest token: return the distribution, from which somebody draws.",
    REMAINDER="(more == more.max()).to(more.dtype)",
)

# --- what is returned, and the rest -----------------------------------------------------------------

mistake(
    "token-drawn",
    "A token is drawn: return the distribution, and who called draws from it.",
    REMAINDER="torch.multinomial(more / more.sum(), 1)",
)
mistake(
    "no-remainder-when-kept",
    "No remainder comes back where the token is kept: return it in both cases.",
    RETURN="return (True, None) if kept else (False, remainder)",
)
mistake(
    "target-beside-the-kept",
    "Where the token is kept, the target comes back in the place of the remainder: return the remainder in both cases.",
    RETURN="return (True, target.clone()) if kept else (False, remainder)",
)
mistake(
    "kept-alone",
    "Only `kept` is returned: return the pair (kept, remainder).",
    RETURN="return kept",
)
mistake(
    "remainder-alone",
    "Only a distribution is returned: return the pair (kept, remainder).",
    RETURN="return remainder",
)
mistake(
    "pair-exchanged",
    says("pair-exchanged", PAIR="kept, remainder"),
    RETURN="return remainder, kept",
)
mistake(
    "probability-for-kept",
    "The probability of keeping the token is returned: compare it with the chance, and return True or False.",
    KEPT="({RATIO}).clamp(max=1)",
)
variant("probability-for-kept", KEPT="float(min(1.0, {RATIO}))")
mistake(
    "token-for-kept",
    "A token is returned in the place of `kept`: return True or False.",
    RETURN="return (token if kept else int(more.argmax())), remainder",
)
mistake(
    "kept-for-each-token",
    "`kept` is there for every token of the vocabulary: the draft's token alone is kept or not.",
    KEPT="chance < target / draft",
)
mistake(
    "float32-comes-out",
    says("float32-comes-out"),
    REMAINDER="(more / more.sum()).float()",
)
mistake(
    "through-float32",
    says("through-float32"),
    MORE="(target.float() - draft.float()).clamp(min=0).to(target.dtype)",
)
mistake(
    "input-changed",
    says("input-changed", X="target"),
    MORE="target.sub_(draft).clamp_(min=0)",
)
