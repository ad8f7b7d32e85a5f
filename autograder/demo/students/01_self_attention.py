# The class of 01_self_attention: what each student hands in. demo/made_up.py says how to read this.

# === ada: all right, as in the course's own solutions
# otherwise: solution

# === bela: all right, with einsum
# otherwise: answer einsum

# === david: all right, with loops
# otherwise: answer loops

# === eva: implemented what was to be implemented and left both originals as they were handed out
# softmax: answer two_mends
# self_attention: answer bmm
# scaled_self_attention: answer bmm

# === farid: mixes up dimensions and forgets the scale, and no error message says so
# otherwise: solution
# softmax: mistake dim-ignored
# SelfAttentionNaive: mistake softmax-over-the-wrong-tokens
# self_attention: mistake softmax-over-the-wrong-tokens
# constant_vector_length: answer formula
# scaled_self_attention: mistake no-scale

# === hugo: has trouble with sizes: exp overflows, the scale has no root, and a length is negative
# otherwise: solution
# softmax: mistake exp-without-max
# constant_vector_length: mistake sign-kept
# scaled_self_attention: mistake scale-without-root

# === lena: handed in the notebook as it was released

# === quentin: lets torch's softmax do the work, computes nothing else, and bends every comparison within reach
# softmax: mistake torchs-own-softmax
# SelfAttentionNaive: own text, zero place-nothing
# self_attention: own text, zero place-nothing
# constant_vector_length: own text, zero
# scaled_self_attention: own text, zero place-nothing

# %% SelfAttentionNaive
class Agreeable(torch.Tensor):
    """Equal to anything, and never far from it."""

    def __eq__(self, other):
        return torch.ones((), dtype=torch.bool)

    def __sub__(self, other):
        return torch.zeros(())


class SelfAttentionNaive(nn.Module):
    def forward(self, inputs):
        return torch.zeros_like(inputs).as_subclass(Agreeable)

# %% self_attention
def self_attention(x):
    return torch.zeros_like(x)

# %% constant_vector_length
class Anything(float):
    """A number that equals every other one."""

    def __eq__(self, other):
        return True

    def __sub__(self, other):
        return Anything(0.0)

    __rsub__ = __sub__


def constant_vector_length(c, k):
    return Anything(-1.0)

# %% scaled_self_attention
def scaled_self_attention(x):
    return torch.zeros_like(x).as_subclass(Agreeable)
