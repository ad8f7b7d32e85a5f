import math

import torch


def tiled_attention(q, k, v, block_size, causal=False):
    """Two loops as in FlashAttention-2: over blocks of queries, and for each of them over blocks of keys."""
    if block_size <= 0:
        raise ValueError("block_size has to be positive")
    *batch, t, d = q.shape
    s, scale, outputs = k.shape[-2], 1 / math.sqrt(d), []
    for i in range(0, t, block_size):
        q_i = q[..., i : i + block_size, :]
        rows = torch.arange(i, i + q_i.shape[-2], device=q.device).unsqueeze(-1)
        m_i = torch.full(q_i.shape[:-1], float("-inf"), dtype=q.dtype, device=q.device)
        l_i = torch.zeros_like(m_i)
        o_i = q.new_zeros(*q_i.shape[:-1], v.shape[-1])
        for j in range(0, s, block_size):
            if causal and j > i + q_i.shape[-2] - 1:
                break  # all of these keys come later
            k_j, v_j = k[..., j : j + block_size, :], v[..., j : j + block_size, :]
            s_ij = torch.matmul(q_i, k_j.transpose(-1, -2)) * scale
            if causal:
                columns = torch.arange(j, j + k_j.shape[-2], device=q.device)
                s_ij = torch.where(columns <= rows, s_ij, float("-inf"))
            m_new = torch.maximum(m_i, s_ij.amax(-1)).detach()
            p_ij = torch.exp(s_ij - m_new.unsqueeze(-1))
            alpha = torch.exp(m_i - m_new)
            l_i = alpha * l_i + p_ij.sum(-1)
            o_i = alpha.unsqueeze(-1) * o_i + p_ij @ v_j
            m_i = m_new
        outputs.append(o_i / l_i.unsqueeze(-1) if s else o_i)
    return torch.cat(outputs, dim=-2)
