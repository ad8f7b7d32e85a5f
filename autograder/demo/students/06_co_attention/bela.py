# all right, with einsum for every product
# expect: ParallelCoAttention = full
# expect: AlternatingCoAttention = full
# expect: CoAttentionStreams = full

# %% ParallelCoAttention
def masked_softmax(logits, mask):
    """Logits (b, s) and a mask (b, s), True = may be seen, or None -> weights (b, s)."""
    if mask is None:
        return torch.softmax(logits, dim=1)
    nothing = ~mask.any(dim=1, keepdim=True)
    logits = logits.masked_fill(~mask, -torch.inf).masked_fill(nothing, 0.0)
    return torch.softmax(logits, dim=1).masked_fill(nothing, 0.0)


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
        C = torch.tanh(torch.einsum("btd,bnd->btn", q, self.W_b(v)))
        from_v, from_q = self.W_v(v), self.W_q(q)
        said_v = from_v if v_mask is None else torch.einsum("bnk,bn->bnk", from_v, v_mask.to(v.dtype))
        said_q = from_q if q_mask is None else torch.einsum("btk,bt->btk", from_q, q_mask.to(q.dtype))
        H_v = torch.tanh(from_v + torch.einsum("btn,btk->bnk", C, said_q))
        H_q = torch.tanh(from_q + torch.einsum("btn,bnk->btk", C, said_v))
        a_v = masked_softmax(torch.einsum("bnk,k->bn", H_v, self.w_hv.weight[0]), v_mask)
        a_q = masked_softmax(torch.einsum("btk,k->bt", H_q, self.w_hq.weight[0]), q_mask)
        return torch.einsum("bn,bnd->bd", a_v, v), torch.einsum("bt,btd->bd", a_q, q), a_v, a_q

# %% AlternatingCoAttention
def one_step(layers, x, mask, g=None):
    """Tokens x (b, s, d), a mask (b, s) or none, a guide g (b, d) or none -> (b, d) and (b, s)."""
    inner = layers["W_x"](x) if g is None else layers["W_x"](x) + layers["W_g"](g).unsqueeze(1)
    a = masked_softmax(torch.einsum("bsk,k->bs", torch.tanh(inner), layers["w_hx"].weight[0]), mask)
    return torch.einsum("bs,bsd->bd", a, x), a


class AlternatingCoAttention(nn.Module):
    """The first step has no W_g, since nothing guides it."""

    def __init__(self, d, k):
        super().__init__()
        self.steps = nn.ModuleList()
        for names in (["W_x"], ["W_x", "W_g"], ["W_x", "W_g"]):
            layers = {name: nn.Linear(d, k, bias=False) for name in names}
            self.steps.append(nn.ModuleDict({**layers, "w_hx": nn.Linear(k, 1, bias=False)}))

    def forward(self, v, q, v_mask=None, q_mask=None):
        if v.dim() != 3 or q.dim() != 3:
            raise ValueError(f"expected (b, n, d) and (b, t, d), got {tuple(v.shape)} and {tuple(q.shape)}")
        first, _ = one_step(self.steps[0], q, q_mask)
        v_hat, a_v = one_step(self.steps[1], v, v_mask, first)
        q_hat, a_q = one_step(self.steps[2], q, q_mask, v_hat)
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
        scores = torch.einsum("bhif,bhjf->bhij", Q, K) / K.shape[-1] ** 0.5
        if context_mask is not None:
            hidden = ~context_mask[:, None, None, :]
            nothing = hidden.all(dim=-1, keepdim=True)
            scores = scores.masked_fill(hidden, float("-inf")).masked_fill(nothing, 0.0)
        weights = F.softmax(scores, dim=-1)
        if context_mask is not None:
            weights = weights.masked_fill(nothing, 0.0)
        return self.out_proj(torch.einsum("bhij,bhjf->bihf", weights, V).flatten(2))


class CoAttentionStreams(nn.Module):
    def __init__(self, d, num_heads):
        super().__init__()
        self.v_to_q = MultiHeadCrossAttention(d, d, d, num_heads)
        self.q_to_v = MultiHeadCrossAttention(d, d, d, num_heads)

    def forward(self, v, q, v_mask=None, q_mask=None):
        new_v = self.v_to_q(v, q, context_mask=q_mask)
        new_q = self.q_to_v(q, v, context_mask=v_mask)
        return new_v, new_q
