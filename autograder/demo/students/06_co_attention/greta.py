# leaves out a tanh, makes zeros on the CPU, and takes the masks of the wrong side
# expect: ParallelCoAttention = partial no-tanh-on-affinity
# expect: AlternatingCoAttention = partial zeros-made-on-the-cpu
# expect: CoAttentionStreams = partial masks-exchanged

# %% ParallelCoAttention
def weights(logits, mask=None):
    if mask is None:
        return F.softmax(logits, dim=-1)
    return F.softmax(logits.masked_fill(~mask, torch.finfo(logits.dtype).min), dim=-1) * mask


class ParallelCoAttention(nn.Module):
    def __init__(self, d, k):
        super().__init__()
        self.W_b = nn.Linear(d, d, bias=False)
        self.W_v = nn.Linear(d, k, bias=False)
        self.W_q = nn.Linear(d, k, bias=False)
        self.w_hv = nn.Linear(k, 1, bias=False)
        self.w_hq = nn.Linear(k, 1, bias=False)

    def forward(self, v, q, v_mask=None, q_mask=None):
        if v.dim() != 3 or q.dim() != 3:
            raise ValueError(f"expected (b, n, d) and (b, t, d), got {tuple(v.shape)} and {tuple(q.shape)}")
        C = q @ self.W_b(v).transpose(1, 2)
        if v_mask is not None:
            C = C * v_mask.unsqueeze(1)
        if q_mask is not None:
            C = C * q_mask.unsqueeze(2)
        V, Q = self.W_v(v), self.W_q(q)
        a_v = weights(self.w_hv(torch.tanh(V + C.transpose(1, 2) @ Q)).squeeze(-1), v_mask)
        a_q = weights(self.w_hq(torch.tanh(Q + C @ V)).squeeze(-1), q_mask)
        v_hat = (a_v.unsqueeze(1) @ v).squeeze(1)
        q_hat = (a_q.unsqueeze(1) @ q).squeeze(1)
        return v_hat, q_hat, a_v, a_q

# %% AlternatingCoAttention
class GuidedStep(nn.Module):
    def __init__(self, d, k):
        super().__init__()
        self.W_x = nn.Linear(d, k, bias=False)
        self.W_g = nn.Linear(d, k, bias=False)
        self.w_hx = nn.Linear(k, 1, bias=False)

    def forward(self, x, g=None, mask=None):
        inner = self.W_x(x)
        if g is not None:
            inner = inner + self.W_g(g)[:, None, :]
        a = weights(self.w_hx(torch.tanh(inner)).squeeze(-1), mask)  # (b, s)
        return (a[:, :, None] * x).sum(dim=1), a


class AlternatingCoAttention(nn.Module):
    def __init__(self, d, k):
        super().__init__()
        self.steps = nn.ModuleList([GuidedStep(d, k) for _ in range(3)])

    def forward(self, v, q, v_mask=None, q_mask=None):
        if v.dim() != 3 or q.dim() != 3:
            raise ValueError(f"expected (b, n, d) and (b, t, d), got {tuple(v.shape)} and {tuple(q.shape)}")
        g = torch.zeros(q.shape[0], q.shape[2], dtype=q.dtype)
        g, _ = self.steps[0](q, g, q_mask)
        v_hat, a_v = self.steps[1](v, g, v_mask)
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
        return self.v_to_q(v, q, v_mask), self.q_to_v(q, v, q_mask)
