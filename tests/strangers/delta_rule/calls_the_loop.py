# wrong: the second function calls the first: a loop
# expect: looped
import torch


def delta_rule(query, key, value, beta):
    b, h, t, d = key.shape
    state = torch.zeros(b, h, d, value.shape[-1], dtype=key.dtype, device=key.device)
    out = []
    for i in range(t):
        k, v, q = key[:, :, i], value[:, :, i], query[:, :, i]
        old = torch.einsum("bhd,bhde->bhe", k, state)
        new = beta[:, :, i, None] * (v - old)
        state = state + torch.einsum("bhd,bhe->bhde", k, new)
        out.append(torch.einsum("bhd,bhde->bhe", q, state))
    return torch.stack(out, dim=2), state


def delta_rule_at_once(query, key, value, beta):
    return delta_rule(query, key, value, beta)
