# wrong: the whole state fades by 1 - beta in place of what the key says (loop), and at once is right
# expect: state-fades
import torch


def delta_rule(query, key, value, beta):
    b, h, t, d = key.shape
    state = torch.zeros(b, h, d, value.shape[-1], dtype=key.dtype, device=key.device)
    out = []
    for i in range(t):
        k, v, q = key[:, :, i], value[:, :, i], query[:, :, i]
        new = beta[:, :, i, None] * v
        state = (1 - beta[:, :, i, None, None]) * state + torch.einsum("bhd,bhe->bhde", k, new)
        out.append(torch.einsum("bhd,bhde->bhe", q, state))
    return torch.stack(out, dim=2), state


def delta_rule_at_once(query, key, value, beta):
    dtype = query.dtype
    if dtype in (torch.float16, torch.bfloat16):
        query, key, value, beta = query.float(), key.float(), value.float(), beta.float()
    t = key.shape[2]
    A = torch.tril(beta.unsqueeze(-1) * (key @ key.mT), diagonal=-1) + torch.eye(t, dtype=key.dtype, device=key.device)
    u = torch.linalg.solve_triangular(A, beta.unsqueeze(-1) * value, upper=False)
    output = torch.tril(query @ key.mT) @ u
    state = key.mT @ u
    return output.to(dtype), state.to(dtype)
