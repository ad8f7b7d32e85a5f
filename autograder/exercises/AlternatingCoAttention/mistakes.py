"""Wrong implementations of `AlternatingCoAttention(d, k)`. Each replaces a step of `Right`."""

import torch
from torch import nn

from ...mistakes.bank import misconception
from ..families.coattention import mistakes as co
from ..families.heads import mistakes


class Right(co.Maps):
    """The right steps: (b, n, d) and (b, t, d) -> `(v_hat, q_hat, a_v, a_q)`."""

    number = 3

    def __init__(self, d, k):
        super().__init__()
        self.k = k
        self.steps = self.make(d, k)

    def make(self, d, k):
        return nn.ModuleList([self.layers(d, k) for _ in range(self.number)])

    def layers(self, d, k):
        step = nn.Module()
        step.W_x, step.W_g, step.w_hx = self.layer(d, k), self.layer(d, k), self.layer(k, 1)
        return step

    def attend(self, v, q):
        first, _ = self.step(0, q, self.first_guide(v, q))
        v_hat, a_v = self.step(1, v, self.second_guide(v, q, first))
        q_hat, a_q = self.step(2, q, self.third_guide(v, q, first, v_hat))
        return v_hat, q_hat, a_v, a_q

    def first_guide(self, v, q):
        return None

    def second_guide(self, v, q, first):
        return first

    def third_guide(self, v, q, first, v_hat):
        return v_hat

    def step(self, number, x, guide):
        layers = self.steps[number]
        weights = self.weigh(layers.w_hx(self.hidden(layers, x, guide)))
        return self.pool(weights, x), weights

    def hidden(self, layers, x, guide):
        return self.bend(layers.W_x(x) if guide is None else self.inner(layers, x, guide))

    def inner(self, layers, x, guide):
        return layers.W_x(x) + layers.W_g(guide).unsqueeze(1)  # (b, s, k)


# --- who guides whom ------------------------------------------------------------------------------


@misconception(
    "never-guided",
    "These are the values you get when no step is guided: step 2 hears of the question, and step 3 of the image.",
)
class NeverGuided(Right):
    def second_guide(self, v, q, first):
        return None

    def third_guide(self, v, q, first, v_hat):
        return None


@misconception(
    "image-not-guided", "These are the values you get when step 2 is not guided: its guide is step 1's summary."
)
class ImageNotGuided(Right):
    def second_guide(self, v, q, first):
        return None


@misconception("question-not-guided", "These are the values you get when step 3 is not guided: its guide is `v_hat`.")
class QuestionNotGuided(Right):
    def third_guide(self, v, q, first, v_hat):
        return None


@misconception(
    "guided-by-itself",
    "These are the values you get when step 3 is guided by step 1's summary of the question: its guide is `v_hat`.",
)
class GuidedByItself(Right):
    def third_guide(self, v, q, first, v_hat):
        return first


@misconception(
    "guided-by-both",
    "These are the values you get when step 3 is guided by both summaries together: its guide is `v_hat` alone.",
)
class GuidedByBoth(Right):
    def third_guide(self, v, q, first, v_hat):
        return first + v_hat


@misconception(
    "guided-by-the-plain-image",
    "These are the values you get when step 3 is guided by the plain average of the image: its guide is `v_hat`, which"
    " step 2 has made.",
)
class GuidedByThePlainImage(Right):
    def third_guide(self, v, q, first, v_hat):
        return v.mean(1)


@misconception(
    "guided-by-the-plain-question",
    "These are the values you get when step 2 is guided by the plain average of the question: step 1 weighs its words.",
)
class GuidedByThePlainQuestion(Right):
    def second_guide(self, v, q, first):
        return q.mean(1)


@misconception(
    "guided-by-the-last-word",
    "These are the values you get when step 2 is guided by the question's last token: its guide is step 1's summary.",
)
class GuidedByTheLastWord(Right):
    def second_guide(self, v, q, first):
        return q[:, -1]


@misconception(
    "first-step-guided-by-the-image",
    "These are the values you get when step 1 is guided by the average of the image: at first there is no guide.",
)
class FirstStepGuidedByTheImage(Right):
    def first_guide(self, v, q):
        return v.mean(1)


@misconception(
    "first-step-guided-by-the-question",
    "These are the values you get when step 1 is guided by the average of the question itself: at first there is no"
    " guide, g = 0.",
)
class FirstStepGuidedByTheQuestion(Right):
    def first_guide(self, v, q):
        return q.mean(1)


@misconception(
    "first-step-guided-by-ones",
    "These are the values you get when step 1 is guided by ones: at first there is no guide, g = 0.",
)
class FirstStepGuidedByOnes(Right):
    def first_guide(self, v, q):
        return torch.ones_like(q[:, 0])


@misconception(
    "guide-detached",
    "The guides are cut out of the graph (`detach`, `.data`), so a step doesn't learn from the steps after it.",
)
class GuideDetached(Right):
    def inner(self, layers, x, guide):
        return Right.inner(self, layers, x, guide.detach())


# --- the order of the steps -----------------------------------------------------------------------


@misconception(
    "image-first",
    "These are the values you get when the image is summed up first: the order is question, image, question.",
)
class ImageFirst(Right):
    def attend(self, v, q):
        first, _ = self.step(0, v, None)
        q_hat, a_q = self.step(1, q, first)
        v_hat, a_v = self.step(2, v, q_hat)
        return v_hat, q_hat, a_v, a_q


@misconception(
    "question-of-step-1-returned",
    "`q_hat` and `a_q` are those of step 1, which knows nothing of the image: return those of step 3.",
)
class QuestionOfStep1Returned(Right):
    def attend(self, v, q):
        first, a_q = self.step(0, q, None)
        v_hat, a_v = self.step(1, v, first)
        return v_hat, first, a_v, a_q


@misconception(
    "weights-of-step-1-returned",
    "`a_q` holds the weights of step 1: return those of step 3, by which `q_hat` is made.",
)
class WeightsOfStep1Returned(Right):
    def attend(self, v, q):
        first, a_q = self.step(0, q, None)
        v_hat, a_v = self.step(1, v, first)
        return v_hat, self.step(2, q, v_hat)[0], a_v, a_q


@misconception(
    "step-3-on-weighted-words",
    "Step 3 works on words that are multiplied by step 1's weights already: it starts from q as it came in.",
)
class Step3OnWeightedWords(Right):
    def attend(self, v, q):
        first, a_first = self.step(0, q, None)
        v_hat, a_v = self.step(1, v, first)
        q_hat, a_q = self.step(2, a_first.unsqueeze(-1) * q, v_hat)
        return v_hat, q_hat, a_v, a_q


@misconception(
    "summaries-added",
    "`q_hat` of step 3 has step 1's summary added to it: it is made of step 3's weights alone.",
)
class SummariesAdded(Right):
    def attend(self, v, q):
        first, _ = self.step(0, q, None)
        v_hat, a_v = self.step(1, v, first)
        q_hat, a_q = self.step(2, q, v_hat)
        return v_hat, q_hat + first, a_v, a_q


@misconception(
    "pooled-over-the-wrong-side",
    "The image is pooled with the question's weights, and the question with the image's. With n = t it runs.",
)
class PooledOverTheWrongSide(Right):
    def attend(self, v, q):
        _, _, a_v, a_q = Right.attend(self, v, q)
        return self.pool(a_q, v), self.pool(a_v, q), a_v, a_q


# --- a step ---------------------------------------------------------------------------------------


@misconception(
    "guide-through-the-tokens-layer",
    "These are the values you get when the guide goes through `W_x`, like the tokens: it has its own layer, `W_g`.",
)
class GuideThroughTheTokensLayer(Right):
    def inner(self, layers, x, guide):
        return layers.W_x(x + guide.unsqueeze(1))


@misconception(
    "layers-exchanged",
    "These are the values you get when `W_g` is applied to the tokens and `W_x` to the guide.",
)
class LayersExchanged(Right):
    def inner(self, layers, x, guide):
        return layers.W_g(x) + layers.W_x(guide).unsqueeze(1)


@misconception(
    "guide-outside-the-tanh",
    "The guide is added after the tanh: it then moves all logits of a step alike, and a softmax does not notice. It"
    " belongs inside.",
)
class GuideOutsideTheTanh(Right):
    def hidden(self, layers, x, guide):
        hidden = self.bend(layers.W_x(x))
        return hidden if guide is None else hidden + layers.W_g(guide).unsqueeze(1)


@misconception(
    "guide-multiplied",
    "These are the values you get when the tokens are multiplied by the guide: the two are added.",
)
class GuideMultiplied(Right):
    def inner(self, layers, x, guide):
        return layers.W_x(x) * layers.W_g(guide).unsqueeze(1)


@misconception(
    "dot-product-with-the-guide",
    "These are the values you get when the logits are dot products of tokens and guide, as of keys and a query: here"
    " they are w_hx(tanh(W_x(x) + W_g(g))).",
)
class DotProductWithTheGuide(Right):
    def hidden(self, layers, x, guide):
        if guide is None:
            return Right.hidden(self, layers, x, guide)
        dots = (layers.W_x(x) * layers.W_g(guide).unsqueeze(1)).sum(-1, keepdim=True)  # (b, s, 1)
        size = layers.w_hx.weight.square().sum()
        return dots * layers.w_hx.weight / size.clamp_min(1e-3)  # what w_hx makes the dot products of


@misconception(
    "guide-of-the-first-pair",
    "All pairs of the batch are guided by the first pair's summary: each has its own.",
)
class GuideOfTheFirstPair(Right):
    def inner(self, layers, x, guide):
        return Right.inner(self, layers, x, guide[:1].expand(guide.shape))


# --- the sets of layers ---------------------------------------------------------------------------


@misconception(
    "one-set-three-times",
    "It is one set of layers, three times over (`[step] * 3`): make a new one for each step.",
)
class OneSetThreeTimes(Right):
    def make(self, d, k):
        return nn.ModuleList([self.layers(d, k)] * 3)


@misconception(
    "first-set-for-all",
    "These are the values you get when the first step's layers serve all steps: each step has its own.",
)
class FirstSetForAll(Right):
    def step(self, number, x, guide):
        return Right.step(self, 0, x, guide)


@misconception(
    "one-set-for-both-question-steps",
    "These are the values you get when the question's two steps share a set of layers: step 3 has its own.",
)
class OneSetForBothQuestionSteps(Right):
    def step(self, number, x, guide):
        return Right.step(self, number % 2, x, guide)


@misconception(
    "sets-in-reverse",
    "These are the values you get when the sets are used in reverse: `steps[0]` belongs to step 1.",
)
class SetsInReverse(Right):
    def step(self, number, x, guide):
        return Right.step(self, 2 - number, x, guide)


@misconception("plain-list", "The steps are in a plain Python list, which hides their parameters: use `nn.ModuleList`.")
class PlainList(Right):
    def make(self, d, k):
        return [self.layers(d, k) for _ in range(3)]


@misconception(
    "step-3-without-guide-layer",
    "Only step 1 can do without `W_g`: steps 2 and 3 are guided, and need theirs.",
)
class Step3WithoutGuideLayer(Right):
    def make(self, d, k):
        steps = Right.make(self, d, k)
        del steps[2].W_g
        return steps


# --- zeros ----------------------------------------------------------------------------------------


@misconception(
    "zeros-made-on-the-cpu",
    "The first guide is made on the CPU: make it with `torch.zeros_like` or `new_zeros`, or leave it out.",
)
class ZerosMadeOnTheCpu(Right):
    def first_guide(self, v, q):
        return torch.zeros(q.shape[0], q.shape[2], dtype=q.dtype)


@misconception(
    "zeros-in-float32",
    "The first guide is float32 whatever goes in: make it like an input, with `torch.zeros_like` or `new_zeros`, or"
    " leave it out.",
)
class ZerosInFloat32(Right):
    def first_guide(self, v, q):
        return torch.zeros(q.shape[0], q.shape[2], device=q.device)


@misconception(
    "guide-kept",
    "The first call's guide is kept and used again: each call has its own.",
)
class GuideKept(Right):
    kept = None

    def second_guide(self, v, q, first):
        if self.kept is None or self.kept.shape != first.shape:
            self.kept = first
        return self.kept


mistakes.adopt(Right, *co.SHARED, shared=co.SHARED)
