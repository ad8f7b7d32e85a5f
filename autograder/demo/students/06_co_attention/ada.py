# all right, in as few lines as it takes
# expect: ParallelCoAttention = full
# expect: AlternatingCoAttention = full
# expect: CoAttentionStreams = full

# %% ParallelCoAttention
def weigh(logits, mask):
    """(b, s, 1) and a mask (b, s) or None -> (b, s, 1)"""
    if mask is None:
        return logits.softmax(1)
    hidden = ~mask[..., None]
    return logits.masked_fill(hidden, torch.finfo(logits.dtype).min).softmax(1).masked_fill(hidden, 0.0)


class ParallelCoAttention(nn.Module):
    def __init__(self, d, k):
        super().__init__()
        self.W_b, self.W_v, self.W_q = (nn.Linear(d, width, bias=False) for width in (d, k, k))
        self.w_hv, self.w_hq = (nn.Linear(k, 1, bias=False) for _ in range(2))

    def forward(self, v, q, v_mask=None, q_mask=None):
        if (v.dim(), q.dim()) != (3, 3):
            raise ValueError(f"expected (b, n, d) and (b, t, d), got {tuple(v.shape)} and {tuple(q.shape)}")
        C, wv, wq = (q @ self.W_b(v).mT).tanh(), self.W_v(v), self.W_q(q)
        C = C if v_mask is None else C * v_mask[:, None]
        C = C if q_mask is None else C * q_mask[..., None]
        a_v = weigh(self.w_hv((wv + C.mT @ wq).tanh()), v_mask)  # (b, n, 1)
        a_q = weigh(self.w_hq((wq + C @ wv).tanh()), q_mask)     # (b, t, 1)
        return (a_v * v).sum(1), (a_q * q).sum(1), a_v[..., 0], a_q[..., 0]

# %% AlternatingCoAttention
class Step(nn.Module):
    def __init__(self, d, k):
        super().__init__()
        self.W_x, self.W_g, self.w_hx = (nn.Linear(i, o, bias=False) for i, o in [(d, k), (d, k), (k, 1)])

    def forward(self, x, g, mask):
        a = weigh(self.w_hx((self.W_x(x) + self.W_g(g)[:, None]).tanh()), mask)  # (b, s, 1)
        return (a * x).sum(1), a[..., 0]


class AlternatingCoAttention(nn.Module):
    def __init__(self, d, k):
        super().__init__()
        self.steps = nn.ModuleList(Step(d, k) for _ in range(3))

    def forward(self, v, q, v_mask=None, q_mask=None):
        if (v.dim(), q.dim()) != (3, 3):
            raise ValueError(f"expected (b, n, d) and (b, t, d), got {tuple(v.shape)} and {tuple(q.shape)}")
        question, _ = self.steps[0](q, q.new_zeros(q.shape[0], q.shape[2]), q_mask)
        v_hat, a_v = self.steps[1](v, question, v_mask)
        q_hat, a_q = self.steps[2](q, v_hat, q_mask)
        return v_hat, q_hat, a_v, a_q

# %% CoAttentionStreams
class MultiHeadCrossAttention(nn.Module):
    """Mine from lesson 05."""

    def __init__(self, d_query, d_context, d_out, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError(f"d_out = {d_out} must be a multiple of num_heads = {num_heads}")
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_query, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_context, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_context, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)

    def cut(self, z):
        b, n, d = z.shape
        return z.view(b, n, self.num_heads, d // self.num_heads).transpose(1, 2)  # (b, h, n, w)

    def forward(self, x, context, context_mask=None):
        if x.dim() != 3 or context.dim() != 3:
            raise ValueError(f"expected three dimensions each, got {tuple(x.shape)} and {tuple(context.shape)}")
        if context_mask is not None and context_mask.dim() != 2:
            raise ValueError(f"expected a mask (b, s), got {tuple(context_mask.shape)}")
        Q, K, V = self.cut(self.W_query(x)), self.cut(self.W_key(context)), self.cut(self.W_value(context))
        scores = Q @ K.transpose(2, 3) / K.shape[-1] ** 0.5  # (b, h, t, s)
        if context_mask is not None:
            hidden = ~context_mask[:, None, None, :]
            nothing = hidden.all(dim=-1, keepdim=True)
            scores = scores.masked_fill(hidden, float("-inf")).masked_fill(nothing, 0.0)
        weights = F.softmax(scores, dim=-1)
        if context_mask is not None:
            weights = weights.masked_fill(nothing, 0.0)
        return self.out_proj((weights @ V).transpose(1, 2).flatten(2))


class CoAttentionStreams(nn.Module):
    def __init__(self, d, num_heads):
        super().__init__()
        self.v_to_q = MultiHeadCrossAttention(d, d, d, num_heads)
        self.q_to_v = MultiHeadCrossAttention(d, d, d, num_heads)

    def forward(self, v, q, v_mask=None, q_mask=None):
        return self.v_to_q(v, q, q_mask), self.q_to_v(q, v, v_mask)
