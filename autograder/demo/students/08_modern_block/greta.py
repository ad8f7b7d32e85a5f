# turns odd widths, refuses no heads, turns before it norms, and forgets a residual
# expect: RMSNorm = full
# expect: SwiGLU = full
# expect: apply_rope = partial odd-width-not-refused
# expect: interleaved_to_halves = partial nothing-refused
# expect: GroupedQueryAttention = partial norms-after-the-rotation
# expect: Block = partial mlp-without-residual

# %% RMSNorm
class RMSNorm(nn.Module):
    def __init__(self, d, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d))
        self.eps = eps

    def forward(self, x):
        wide = x if x.dtype == torch.float64 else x.float()
        root = (wide.pow(2).mean(-1, keepdim=True) + self.eps).sqrt()
        return (wide / root * self.weight).to(x.dtype)


# %% SwiGLU
class SwiGLU(nn.Module):
    def __init__(self, d, hidden):
        super().__init__()
        self.W_gate = nn.Linear(d, hidden, bias=False)
        self.W_up = nn.Linear(d, hidden, bias=False)
        self.W_down = nn.Linear(hidden, d, bias=False)

    def forward(self, x):
        gate = F.silu(self.W_gate(x))  # (…, hidden)
        return self.W_down(gate * self.W_up(x))


# %% apply_rope
def apply_rope(x, positions, base=10000.0):
    d = x.shape[-1]
    i = torch.arange(d // 2, device=x.device)
    wide = torch.promote_types(x.dtype, torch.float32)
    angles = positions.to(wide)[..., None] * base ** (-2 * i.to(wide) / d)  # (t, d/2) or (b, t, d/2)
    if positions.dim() == 2 and x.dim() == 4:
        angles = angles[:, None]  # for all heads
    cos, sin = angles.cos(), angles.sin()
    x1, x2 = x[..., : d // 2], x[..., d // 2 :]
    return torch.cat([x1 * cos - x2 * sin, x1 * sin + x2 * cos], dim=-1).to(x.dtype)


# %% interleaved_to_halves
def interleaved_to_halves(weight, num_heads):
    d = weight.shape[0] // num_heads
    pairs = weight.view(num_heads, d // 2, 2, -1)
    return pairs.transpose(1, 2).reshape(weight.shape)


# %% GroupedQueryAttention
class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, head_dim=None, rope_base=None, qk_norm=False):
        super().__init__()
        if num_heads % num_kv_heads != 0:
            raise ValueError(f"{num_kv_heads} key heads do not divide {num_heads} query heads")
        if head_dim is None:
            if d_model % num_heads != 0:
                raise ValueError(f"{num_heads} heads do not divide {d_model}")
            head_dim = d_model // num_heads
        self.num_heads, self.num_kv_heads, self.head_dim = num_heads, num_kv_heads, head_dim
        self.rope_base, self.qk_norm = rope_base, qk_norm
        self.W_query = nn.Linear(d_model, num_heads * head_dim, bias=False)
        self.W_key = nn.Linear(d_model, num_kv_heads * head_dim, bias=False)
        self.W_value = nn.Linear(d_model, num_kv_heads * head_dim, bias=False)
        self.out_proj = nn.Linear(num_heads * head_dim, d_model, bias=False)
        if qk_norm:
            self.q_norm, self.k_norm = RMSNorm(head_dim), RMSNorm(head_dim)

    def forward(self, x):
        if x.dim() != 3:
            raise ValueError(f"expected (b, t, d_model), got {tuple(x.shape)}")
        b, t, _ = x.shape
        q = self.W_query(x).reshape(b, t, self.num_heads, self.head_dim).transpose(1, 2)  # (b, h, t, w)
        k = self.W_key(x).reshape(b, t, self.num_kv_heads, self.head_dim).transpose(1, 2)  # (b, g, t, w)
        v = self.W_value(x).reshape(b, t, self.num_kv_heads, self.head_dim).transpose(1, 2)  # (b, g, t, w)
        if self.rope_base is not None:
            places = torch.arange(t, device=x.device)
            q, k = apply_rope(q, places, self.rope_base), apply_rope(k, places, self.rope_base)
        if self.qk_norm:
            q, k = self.q_norm(q), self.k_norm(k)
        k = k.repeat_interleave(self.num_heads // self.num_kv_heads, dim=1)
        v = v.repeat_interleave(self.num_heads // self.num_kv_heads, dim=1)
        scores = q @ k.transpose(-2, -1) / self.head_dim**0.5
        later = torch.ones(t, t, dtype=torch.bool, device=x.device).triu(1)
        weights = F.softmax(scores.masked_fill(later, float("-inf")), dim=-1)
        return self.out_proj((weights @ v).transpose(1, 2).reshape(b, t, -1))


# %% Block
class Block(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, hidden, rope_base=10000.0):
        super().__init__()
        self.attention_norm = RMSNorm(d_model)
        self.attention = GroupedQueryAttention(d_model, num_heads, num_kv_heads, rope_base=rope_base)
        self.mlp_norm = RMSNorm(d_model)
        self.mlp = SwiGLU(d_model, hidden)

    def forward(self, x):
        x = x + self.attention(self.attention_norm(x))
        x = self.mlp(self.mlp_norm(x))
        return x
