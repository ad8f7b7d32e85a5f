# did the first two and had no time for the third
# expect: ParallelCoAttention = full
# expect: AlternatingCoAttention = full
# expect: CoAttentionStreams = zero

# %% ParallelCoAttention
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
        C = torch.tanh(torch.bmm(q, self.W_b(v).transpose(1, 2)))                      # (b, t, n)
        if v_mask is not None:
            C = C.masked_fill(~v_mask[:, None, :], 0.0)
        if q_mask is not None:
            C = C.masked_fill(~q_mask[:, :, None], 0.0)
        H_v = torch.tanh(self.W_v(v) + torch.bmm(C.transpose(1, 2), self.W_q(q)))      # (b, n, k)
        H_q = torch.tanh(self.W_q(q) + torch.bmm(C, self.W_v(v)))                      # (b, t, k)
        a_v = self.weights(self.w_hv(H_v), v_mask)                                     # (b, n, 1)
        a_q = self.weights(self.w_hq(H_q), q_mask)                                     # (b, t, 1)
        v_hat = torch.bmm(a_v.transpose(1, 2), v).squeeze(1)
        q_hat = torch.bmm(a_q.transpose(1, 2), q).squeeze(1)
        return v_hat, q_hat, a_v.squeeze(2), a_q.squeeze(2)

    def weights(self, logits, mask):
        if mask is None:
            return F.softmax(logits, dim=1)
        hidden = ~mask.unsqueeze(2)
        return F.softmax(logits.masked_fill(hidden, torch.finfo(logits.dtype).min), dim=1).masked_fill(hidden, 0.0)

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
        logits = self.w_hx(torch.tanh(inner)).squeeze(-1)               # (b, s)
        if mask is not None:
            logits = logits.masked_fill(~mask, torch.finfo(logits.dtype).min)
        a = F.softmax(logits, dim=1)
        if mask is not None:
            a = a.masked_fill(~mask, 0.0)
        return (a[:, :, None] * x).sum(dim=1), a


class AlternatingCoAttention(nn.Module):
    def __init__(self, d, k):
        super().__init__()
        self.steps = nn.ModuleList([GuidedStep(d, k) for _ in range(3)])

    def forward(self, v, q, v_mask=None, q_mask=None):
        if v.dim() != 3 or q.dim() != 3:
            raise ValueError(f"expected (b, n, d) and (b, t, d), got {tuple(v.shape)} and {tuple(q.shape)}")
        words, _ = self.steps[0](q, mask=q_mask)
        image, a_v = self.steps[1](v, words, v_mask)
        words, a_q = self.steps[2](q, image, q_mask)
        return image, words, a_v, a_q
