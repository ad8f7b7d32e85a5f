# %% right
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
    dtype = query.dtype
    if dtype in (torch.float16, torch.bfloat16):
        query, key, value, beta = query.float(), key.float(), value.float(), beta.float()
    t = key.shape[2]
    A = torch.tril(beta.unsqueeze(-1) * (key @ key.mT), diagonal=-1) + torch.eye(t, dtype=key.dtype, device=key.device)
    u = torch.linalg.solve_triangular(A, beta.unsqueeze(-1) * value, upper=False)
    output = torch.tril(query @ key.mT) @ u
    state = key.mT @ u
    return output.to(dtype), state.to(dtype)

# %% beta_of_columns: at once: beta multiplies the columns of the triangle and not its rows
# expect: beta-of-the-columns
# -    A = torch.tril(beta.unsqueeze(-1) * (key @ key.mT), diagonal=-1) + torch.eye(t, dtype=key.dtype, device=key.device)
# +    A = torch.tril(beta.unsqueeze(-2) * (key @ key.mT), diagonal=-1) + torch.eye(t, dtype=key.dtype, device=key.device)

# %% beta_once: at once: beta is only on the right side, not in the triangle
# expect: beta-missing-in-the-matrix
# -    A = torch.tril(beta.unsqueeze(-1) * (key @ key.mT), diagonal=-1) + torch.eye(t, dtype=key.dtype, device=key.device)
# +    A = torch.tril(key @ key.mT, diagonal=-1) + torch.eye(t, dtype=key.dtype, device=key.device)

# %% diagonal_too: at once: the diagonal of the products is left in, beside the ones
# expect: diagonal-twice
# -    A = torch.tril(beta.unsqueeze(-1) * (key @ key.mT), diagonal=-1) + torch.eye(t, dtype=key.dtype, device=key.device)
# +    A = torch.tril(beta.unsqueeze(-1) * (key @ key.mT), diagonal=0) + torch.eye(t, dtype=key.dtype, device=key.device)

# %% forgets: the whole state fades by 1 - beta in place of what the key says (loop), and at once is right
# expect: state-fades
# -        old = torch.einsum("bhd,bhde->bhe", k, state)
# -        new = beta[:, :, i, None] * (v - old)
# -        state = state + torch.einsum("bhd,bhe->bhde", k, new)
# +        new = beta[:, :, i, None] * v
# +        state = (1 - beta[:, :, i, None, None]) * state + torch.einsum("bhd,bhe->bhde", k, new)

# %% in_place: the state is changed in place, and outputs are read from it; gradients stop
# expect: fact-changed-in-place
# -        state = state + torch.einsum("bhd,bhe->bhde", k, new)
# +        state += torch.einsum("bhd,bhe->bhde", k, new)

# %% linear_at_once: at once it is linear attention with beta: nothing is solved
# expect: not-taken-off-at-once
# -    A = torch.tril(beta.unsqueeze(-1) * (key @ key.mT), diagonal=-1) + torch.eye(t, dtype=key.dtype, device=key.device)
# -    u = torch.linalg.solve_triangular(A, beta.unsqueeze(-1) * value, upper=False)
# +    u = beta.unsqueeze(-1) * value

# %% reads_before: in both forms the query reads the state before its own token is written
# expect: read-before-written, own-note-not-read
# -        k, v, q = key[:, :, i], value[:, :, i], query[:, :, i]
# +        k, v, q = key[:, :, i], value[:, :, i], query[:, :, i]
# +        out.append(torch.einsum("bhd,bhde->bhe", q, state))

# -        out.append(torch.einsum("bhd,bhde->bhe", q, state))

# -    output = torch.tril(query @ key.mT) @ u
# +    output = torch.tril(query @ key.mT, diagonal=-1) @ u

# %% scaled_and_state: both divide scores by the root of d, and the loop returns only the output
# expect: output-scaled
# -        out.append(torch.einsum("bhd,bhde->bhe", q, state))
# +        out.append(torch.einsum("bhd,bhde->bhe", q, state) / d**0.5)

# -    output = torch.tril(query @ key.mT) @ u
# +    output = torch.tril(query @ key.mT / key.shape[-1] ** 0.5) @ u

# %% state_transposed: the state comes out as (dv, d) in both
# expect: state-transposed, state-transposed-at-once
# -    return torch.stack(out, dim=2), state
# +    return torch.stack(out, dim=2), state.transpose(2, 3)

# -    return output.to(dtype), state.to(dtype)
# +    return output.to(dtype), state.mT.to(dtype)

# %% calls_the_loop: the second function calls the first: a loop
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
