"""Checks of `SelfAttention(d_in, d_out, qkv_bias=False)`: (n, d_in) -> (n, d_out), with a batch or without."""

from ...checks.api import Draw, check, close, parameters, reacts, refuses, shape
from ...checks.proxies import Proxy, Submission
from ..families.single_head.checks import D_OUT, MANY, WIDE, N, SingleHeadChecks, or_unbatched, output_of


class TestSelfAttention(SingleHeadChecks):
    names = ("W_query", "W_key", "W_value")
    leading = (2,)
    d_in = 3
    sizes_of_dtypes = (3, 6)

    def build(self, submission: Submission, d_in: int, d_out: int, bias: bool) -> Proxy:
        options = {"qkv_bias": True} if bias else {}
        return submission.build("SelfAttention", d_in, d_out, **options)

    @check("shape", points=0.5)
    @or_unbatched
    def test_parameters(self, submission: Submission, draw: Draw) -> None:
        """The parameters are those of `W_query`, `W_key` and `W_value`, with a bias each if `qkv_bias`, and no
        others."""
        modules = submission.build("SelfAttention", 6, 4), submission.build("SelfAttention", 6, 4, qkv_bias=True)
        plain, biased = (module.parameters() for module in modules)
        self.averaging(submission, draw)
        parameters(plain, {f"{name}.weight": (4, 6) for name in self.names})
        parameters(biased, {f"{n}.{part}": s for n in self.names for part, s in [("weight", (4, 6)), ("bias", (4,))]})

    @check("values", points=1)
    def test_batch(self, submission: Submission, draw: Draw) -> None:
        """For a batch, the output is softmax(Q Kᵀ / √d_out) V of each sequence, be they short or long."""
        for state, x in (
            (self.weights(draw), draw.normal(9, N, self.d_in)),
            (self.weights(draw, 20, WIDE), draw.normal(2, MANY, 20)),
        ):
            close(self.head(submission, state)(x), self.right(x, state), f"the output for {x.shape[1]} tokens")

    @check("values", points=0.5)
    def test_one_sequence(self, submission: Submission, draw: Draw) -> None:
        """For one sequence without a batch, the output is softmax(Q Kᵀ / √d_out) V, of shape (n, d_out)."""
        state = self.weights(draw)
        for n in (N, 1):
            x = draw.normal(n, self.d_in)
            close(output_of(self.head(submission, state)(x)), self.right(x, state), f"the output for n = {n}")

    @check("values", points=0.5)
    def test_all_sizes_equal(self, submission: Submission, draw: Draw) -> None:
        """The values are right also when b = n = d_in = d_out, where a mix-up of dimensions does not crash."""
        state, x = self.weights(draw, 4, 4), draw.normal(4, 4, 4)
        close(output_of(self.head(submission, state)(x)), self.right(x, state))

    @check("values", points=0.5)
    @or_unbatched
    def test_biases(self, submission: Submission, draw: Draw) -> None:
        """With `qkv_bias=True`, queries, keys and values each get their bias added."""
        state, x = self.weights(draw, bias=True), self.tokens(draw)
        close(output_of(self.head(submission, state)(x)), self.right(x, state))

    @check("masking", points=0.5)
    def test_sequences_of_a_batch_are_apart(self, submission: Submission, draw: Draw) -> None:
        """A sequence gets the same whatever else is in the batch, and each token depends on all of its own sequence."""
        self.averaging(submission, draw)
        state, x, others, last = self.weights(draw), self.tokens(draw), self.tokens(draw), self.tokens(draw)
        others[0] = x[0]
        last[0, :-1] = x[0, :-1]
        module = self.head(submission, state)
        before, beside_others, last_changed = (output_of(module(one)) for one in (x, others, last))
        for output in (before, beside_others, last_changed):
            shape(output, (2, N, D_OUT))
        close(beside_others[0], before[0], "the first sequence's output, in another batch,")
        says = "There is a token whose output stays the same when the last token of its sequence changes."
        reacts(before[0], last_changed[0], self.right(x, state)[0], self.right(last, state)[0], says)

    @check("shape", points=0.5)
    def test_small_and_odd_inputs(self, submission: Submission, draw: Draw) -> None:
        """A batch of one, a sequence of one token, and a tensor that is not contiguous work like any other."""
        self.averaging(submission, draw)
        state = self.weights(draw)
        state["W_key.weight"].zero_()  # equal scores: the rest of the formula has its own checks
        inputs = {
            "a batch of one": draw.normal(1, N, self.d_in),
            "one token": draw.normal(2, 1, self.d_in),
            "a batch of one token": draw.normal(1, 1, self.d_in),
            "a transposed tensor": draw.normal(2, self.d_in, N).mT,
        }
        module = self.head(submission, state)
        outputs = [output_of(module(x)) for x in inputs.values()]
        for (name, x), got in zip(inputs.items(), outputs, strict=True):
            close(got, self.right(x, state), f"the output for {name}")

    @check("arguments", points=0.5)
    @or_unbatched
    def test_wrong_rank(self, submission: Submission, draw: Draw) -> None:
        """An input that is neither (n, d_in) nor (b, n, d_in) is refused with a `ValueError`: a vector, say."""
        module = self.averages(submission, draw)
        vector, deep = module.error(draw.normal(D_OUT)), module.error(draw.normal(1, 2, N, D_OUT))
        refuses(vector, "a vector of shape (d_in,)")
        refuses(deep, "an input with four dimensions")
