"""What goes wrong in `AlternatingCoAttention(d, k)`."""

from ...mistakes.bank import Bank
from ..families.attention import mistakes as attention
from ..families.coattention import mistakes as co
from ..families.wordings import says

LAYERS = """self.W_x = nn.Linear(d, k, bias=False)
        self.W_g = nn.Linear(d, k, bias=False)
        self.w_hx = nn.Linear(k, 1, bias=False)"""
LOGIT_LAYERS = "self.w_hx = nn.Linear(k, 1, bias=False)"

BANK = Bank(
    "AlternatingCoAttention",
    places=co.PLACES
    | {
        "LAYERS": LAYERS,
        "LOGIT_LAYERS": LOGIT_LAYERS,
        "CHECK": """if v.dim() != 3 or q.dim() != 3:
            raise ValueError(f"v and q need three dimensions each, got {tuple(v.shape)} and {tuple(q.shape)}")""",
        "LOGITS": "self.w_hx(torch.tanh(inner))",
        "INNER": "inner = self.W_x(x)",
        "GUIDED": "inner = inner + self.W_g(g).unsqueeze(1)",
        "SETS": "nn.ModuleList([GuidedStep(d, k) for _ in range(3)])",
        "STEP_1": "first, _ = self.steps[0](q, None, q_mask)",
        "STEP_2": "v_hat, a_v = self.steps[1](v, first, v_mask)",
        "STEP_3": "q_hat, a_q = self.steps[2](q, v_hat, q_mask)",
    },
    words={
        "BIASED": LAYERS.replace(", bias=False", ""),
        "BIASED_LOGITS": LOGIT_LAYERS.replace(", bias=False", ""),
    },
    seen_on_a_gpu="never-guided",
)
mistake = BANK.mistake

# --- who guides whom ------------------------------------------------------------------------------

mistake(
    "never-guided",
    "These are the values you get when no step is guided: step 2 hears of the question, and step 3 of the image.",
    STEP_2="v_hat, a_v = self.steps[1](v, None, v_mask)",
    STEP_3="q_hat, a_q = self.steps[2](q, None, q_mask)",
)
mistake(
    "image-not-guided",
    "These are the values you get when step 2 is not guided: its guide is step 1's summary.",
    STEP_2="v_hat, a_v = self.steps[1](v, None, v_mask)",
)
mistake(
    "question-not-guided",
    "These are the values you get when step 3 is not guided: its guide is `v_hat`.",
    STEP_3="q_hat, a_q = self.steps[2](q, None, q_mask)",
)
mistake(
    "guided-by-itself",
    "These are the values you get when step 3 is guided by step 1's summary of the question: its guide is `v_hat`.",
    STEP_3="q_hat, a_q = self.steps[2](q, first, q_mask)",
)
mistake(
    "guided-by-both",
    "These are the values you get when step 3 is guided by both summaries together: its guide is `v_hat` alone.",
    STEP_3="q_hat, a_q = self.steps[2](q, first + v_hat, q_mask)",
)
mistake(
    "guided-by-the-plain-image",
    "These are the values you get when step 3 is guided by the plain average of the image: its guide is `v_hat`, which"
    " step 2 has made.",
    STEP_3="q_hat, a_q = self.steps[2](q, v.mean(1), q_mask)",
)
mistake(
    "guided-by-the-plain-question",
    "These are the values you get when step 2 is guided by the plain average of the question: step 1 weighs its words.",
    STEP_2="v_hat, a_v = self.steps[1](v, q.mean(1), v_mask)",
)
mistake(
    "guided-by-the-last-word",
    "These are the values you get when step 2 is guided by the question's last token: its guide is step 1's summary.",
    STEP_2="v_hat, a_v = self.steps[1](v, q[:, -1], v_mask)",
)
mistake(
    "first-step-guided-by-the-image",
    "These are the values you get when step 1 is guided by the average of the image: at first there is no guide.",
    STEP_1="first, _ = self.steps[0](q, v.mean(1), q_mask)",
)
mistake(
    "first-step-guided-by-the-question",
    "These are the values you get when step 1 is guided by the average of the question itself: at first there is no"
    " guide, g = 0.",
    STEP_1="first, _ = self.steps[0](q, q.mean(1), q_mask)",
)
mistake(
    "first-step-guided-by-ones",
    "These are the values you get when step 1 is guided by ones: at first there is no guide, g = 0.",
    STEP_1="first, _ = self.steps[0](q, torch.ones_like(q[:, 0]), q_mask)",
)
mistake(
    "guide-detached",
    "The guides are cut out of the graph (`detach`, `.data`), so a step doesn't learn from the steps after it.",
    GUIDED="inner = inner + self.W_g(g.detach()).unsqueeze(1)",
)

# --- the order of the steps -----------------------------------------------------------------------

mistake(
    "image-first",
    "These are the values you get when the image is summed up first: the order is question, image, question.",
    STEP_1="first, _ = self.steps[0](v, None, v_mask)",
    STEP_2="q_hat, a_q = self.steps[1](q, first, q_mask)",
    STEP_3="v_hat, a_v = self.steps[2](v, q_hat, v_mask)",
)
mistake(
    "question-of-step-1-returned",
    "`q_hat` and `a_q` are those of step 1, which knows nothing of the image: return those of step 3.",
    STEP_1="q_hat, a_q = self.steps[0](q, None, q_mask)",
    STEP_2="v_hat, a_v = self.steps[1](v, q_hat, v_mask)",
    STEP_3="",
)
mistake(
    "weights-of-step-1-returned",
    "`a_q` holds the weights of step 1: return those of step 3, by which `q_hat` is made.",
    STEP_1="first, a_q = self.steps[0](q, None, q_mask)",
    STEP_3="q_hat, _ = self.steps[2](q, v_hat, q_mask)",
)
mistake(
    "step-3-on-weighted-words",
    "Step 3 works on words that are multiplied by step 1's weights already: it starts from q as it came in.",
    STEP_1="first, a = self.steps[0](q, None, q_mask)",
    STEP_3="q_hat, a_q = self.steps[2](a.unsqueeze(-1) * q, v_hat, q_mask)",
)
mistake(
    "summaries-added",
    "`q_hat` of step 3 has step 1's summary added to it: it is made of step 3's weights alone.",
    RETURN="return v_hat, q_hat + first, a_v, a_q",
)
mistake(
    "pooled-over-the-wrong-side",
    "The image is pooled with the question's weights, and the question with the image's. With n = t it runs.",
    RETURN="""v_hat, q_hat = (a_q.unsqueeze(1) @ v).squeeze(1), (a_v.unsqueeze(1) @ q).squeeze(1)
        return v_hat, q_hat, a_v, a_q""",
)

# --- a step ---------------------------------------------------------------------------------------

mistake(
    "guide-through-the-tokens-layer",
    "These are the values you get when the guide goes through `W_x`, like the tokens: it has its own layer, `W_g`.",
    GUIDED="inner = inner + self.W_x(g).unsqueeze(1)",
)
mistake(
    "layers-exchanged",
    says("layers-exchanged", ONE="W_g", FIRST="the tokens", OTHER="W_x", SECOND="the guide"),
    GUIDED="inner = self.W_g(x) + self.W_x(g).unsqueeze(1)",
)
mistake(
    "guide-outside-the-tanh",
    "The guide is added after the tanh: it then moves all logits of a step alike, and a softmax does not notice. It"
    " belongs inside.",
    INNER="inner = torch.tanh(self.W_x(x))",
    BEND="inner",
)
mistake(
    "guide-multiplied",
    "These are the values you get when the tokens are multiplied by the guide: the two are added.",
    GUIDED="inner = inner * self.W_g(g).unsqueeze(1)",
)
mistake(
    "dot-product-with-the-guide",
    "These are the values you get when the logits are dot products of tokens and guide, as of keys and a query: here"
    " they are w_hx(tanh(W_x(x) + W_g(g))).",
    # `w_hx` turns this H back into the dot products, so it still decides whether there are logits at all.
    INNER="inner = self.W_x(x)\n        H = torch.tanh(inner)",
    GUIDED="""dots = (inner * self.W_g(g).unsqueeze(1)).sum(-1, keepdim=True)
            H = dots * self.w_hx.weight / self.w_hx.weight.square().sum().clamp_min(1e-3)""",
    BEND="H",
)
mistake(
    "guide-without-a-dimension",
    "W_g(g) of shape (b, k) meets W_x(x) of shape (b, s, k) as it is, and is taken for s rows: put a dimension for the"
    " tokens in its middle, `unsqueeze(1)`.",
    GUIDED="inner = inner + self.W_g(g)",
)
mistake(
    "guide-layer-kept",
    "The weights of the first call are kept (copied, joined or transposed) and used again, but they change while a"
    " module learns: read them again in each call.",
    GUIDED="""kept = self.__dict__.setdefault("kept", self.W_g.weight.clone())
            inner = inner + (g @ kept.mT).unsqueeze(1)""",
)
mistake(
    "guide-of-the-first-pair",
    "All pairs of the batch are guided by the first pair's summary: each has its own.",
    GUIDED="inner = inner + self.W_g(g[:1]).unsqueeze(1)",
)

# --- the sets of layers ---------------------------------------------------------------------------

mistake(
    "one-set-three-times",
    "It is one set of layers, three times over (`[step] * 3`): make a new one for each step.",
    SETS="nn.ModuleList([GuidedStep(d, k)] * 3)",
)
mistake(
    "first-set-for-all",
    "These are the values you get when the first step's layers serve all steps: each step has its own.",
    STEP_2="v_hat, a_v = self.steps[0](v, first, v_mask)",
    STEP_3="q_hat, a_q = self.steps[0](q, v_hat, q_mask)",
)
mistake(
    "one-set-for-both-question-steps",
    "These are the values you get when the question's two steps share a set of layers: step 3 has its own.",
    STEP_3="q_hat, a_q = self.steps[0](q, v_hat, q_mask)",
)
mistake(
    "sets-in-reverse",
    "These are the values you get when the sets are used in reverse: `steps[0]` belongs to step 1.",
    STEP_1="first, _ = self.steps[2](q, None, q_mask)",
    STEP_3="q_hat, a_q = self.steps[0](q, v_hat, q_mask)",
)
mistake(
    "plain-list",
    says("plain-list", WHAT="steps"),
    SETS="[GuidedStep(d, k) for _ in range(3)]",
)
mistake(
    "step-3-without-guide-layer",
    "Only step 1 can do without `W_g`: steps 2 and 3 are guided, and need theirs.",
    SETS="{SETS}\n        del self.steps[2].W_g",
)

# --- masks in the steps ---------------------------------------------------------------------------

mistake(
    "question-mask-in-step-1-alone",
    "These are the values you get when `q_mask` plays a part in step 1 alone: step 3 sums up the question, too.",
    STEP_3="q_hat, a_q = self.steps[2](q, v_hat)",
)
mistake(
    "question-mask-in-step-3-alone",
    "These are the values you get when `q_mask` plays a part in step 3 alone: the guide of step 1 still hears hidden"
    " words.",
    STEP_1="first, _ = self.steps[0](q)",
)

# --- zeros ----------------------------------------------------------------------------------------

mistake(
    "zeros-made-on-the-cpu",
    "The first guide is made on the CPU: make it with `torch.zeros_like` or `new_zeros`, or leave it out.",
    STEP_1="first, _ = self.steps[0](q, torch.zeros(q.shape[0], q.shape[2], dtype=q.dtype), q_mask)",
)
mistake(
    "zeros-in-float32",
    "The first guide is float32 whatever goes in: make it like an input, with `torch.zeros_like` or `new_zeros`, or"
    " leave it out.",
    STEP_1="first, _ = self.steps[0](q, torch.zeros(q.shape[0], q.shape[2], device=q.device), q_mask)",
)
mistake(
    "guide-kept",
    "The first call's guide is kept and used again: each call has its own.",
    SETS="{SETS}\n        self.first = None",
    STEP_1="""{STEP_1}
        if self.first is None or self.first.shape != first.shape:
            self.first = first""",
    STEP_2="v_hat, a_v = self.steps[1](v, self.first, v_mask)",
)

BANK.share(
    co.SHARED | attention.CONSTRUCTOR,
    edits={
        "super-not-called": {"super().__init__()\n        self.steps": "super.__init__()\n        self.steps"},
        "init-misspelt": {"super().__init__()\n        self.steps": "super().init()\n        self.steps"},
    },
)
BANK.variant("masks-exchanged", FORWARD="def forward(self, v, q, q_mask=None, v_mask=None):")
