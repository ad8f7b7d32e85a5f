"""What goes wrong in `delta_rule` and `delta_rule_at_once`, as edits of the course's own answer."""

from ...mistakes.bank import Bank
from ...mistakes.prices import ALL
from ..families import roles
from ..families.wordings import says

BANK = Bank(
    "delta_rule",
    places={
        "STATE": "key.new_zeros(*key.shape[:2], key.shape[3], value.shape[3])",
        "LOOP": "for i in range(key.shape[2]):",
        "SAID": "said = k.transpose(2, 3) @ state",
        "WRITE": "state = state + beta[:, :, i, None, None] * (k @ (v - said))",
        "SHARE": "beta[:, :, i, None, None]",
        "CHANGE": "(k @ (v - said))",
        "READ": "outputs.append(q @ state)",
        "RETURN_STEPS": "return torch.cat(outputs, dim=2), state",
        "DTYPE": "dtype = value.dtype",
        "WIDE": "x if dtype == torch.float64 else x.float()",
        "SHARES": "shares = beta[..., None]",
        "BEFORE": "before = (shares * (key @ key.transpose(2, 3))).tril(-1)",
        "BELOW": ".tril(-1)",
        "EYE": "torch.eye(key.shape[2], dtype=key.dtype, device=key.device)",
        "LOWER": " + before",
        "SOLVE": "torch.linalg.solve_triangular(lower, shares * value, upper=False)",
        "RIGHT_SIDE": "lower, shares * value,",
        "OUTPUT": "output = (query @ key.transpose(2, 3)).tril() @ written",
        "FINAL": "state = key.transpose(2, 3) @ written",
        "RETURN": "return output.to(dtype), state.to(dtype)",
    },
    seen_on_a_gpu="not-taken-off",
)
mistake, variant = BANK.mistake, BANK.variant

# --- step by step -----------------------------------------------------------------------------------

mistake(
    "not-taken-off",
    "These are the values of linear attention: what the state says of a key already is not taken off, so a second value"
    " is added to the first.",
    price=ALL,
    CHANGE="(k @ v)",
    LOWER="",
)
mistake(
    "not-taken-off-in-steps",
    "In `delta_rule` what the state says of a key already is not taken off its value, so a second value is added to the"
    " first.",
    CHANGE="(k @ v)",
)
mistake(
    "asked-by-the-query",
    "In `delta_rule` the state is asked by the query before it is written: what counts is what it says of the key.",
    SAID="said = q @ state",
)
mistake(
    "beta-ignored",
    "These are the values you get with a beta of 1 throughout: the change is multiplied by beta.",
    SHARE="1.0",
    SHARES="shares = torch.ones_like(beta)[..., None]",
)
mistake(
    "beta-ignored-in-steps",
    "In `delta_rule` beta plays no part: the change is multiplied by it.",
    SHARE="1.0",
)
mistake(
    "beta-on-the-value-alone",
    "In `delta_rule` beta multiplies the value alone, and what the state says is taken off in full: it multiplies the"
    " difference.",
    WRITE="state = state + k @ ({SHARE} * v - said)",
)
mistake(
    "beta-on-what-is-said-alone",
    "In `delta_rule` beta multiplies what the state says alone, and the value is written in full: it multiplies the"
    " difference.",
    WRITE="state = state + k @ (v - {SHARE} * said)",
)
mistake(
    "state-fades",
    "In `delta_rule` the whole state fades by 1 − beta, whatever the key: only what it says of this key is taken off.",
    WRITE="state = (1 - {SHARE}) * state + {SHARE} * (k @ v)",
)
mistake(
    "read-before-written",
    "In `delta_rule` a query reads the state before its own token has written into it: write first.",
    WRITE="outputs.append(q @ state)\n        {WRITE}",
    READ="",
)
mistake(
    "read-by-the-key",
    "In `delta_rule` the key reads the state: it is the query that reads.",
    READ="outputs.append(k.transpose(2, 3) @ state)",
)
mistake(
    "added-instead",
    "In `delta_rule` what the state says is added to the value: take it off.",
    CHANGE="(k @ (v + said))",
)
mistake(
    "state-replaced",
    "In `delta_rule` the state is replaced by what is written: add the change to the state before.",
    WRITE="state = {SHARE} * {CHANGE}",
)
mistake(
    "state-transposed",
    "`delta_rule` returns the state transposed: (b, h, d, dv).",
    RETURN_STEPS="return torch.cat(outputs, dim=2), state.transpose(2, 3)",
)
mistake(
    "output-scaled",
    "The output is divided by the root of the key's width: there is no scale here.",
    READ="outputs.append(q @ state / key.shape[3] ** 0.5)",
    OUTPUT="{OUTPUT} / key.shape[3] ** 0.5",
)
mistake(
    "keys-normalised",
    "Keys are brought to length 1 first: use them as they come.",
    STATE="key.new_zeros(*key.shape[:2], key.shape[3], value.shape[3])\n    key = key / key.norm(dim=-1, keepdim=True)",
    DTYPE="{DTYPE}\n    key = key / key.norm(dim=-1, keepdim=True)",
)
mistake(
    "softmax-over-the-read",
    "Queries and keys go through a softmax first: there is none here.",
    STATE="{STATE}\n    query = query.softmax(dim=-1)",
    DTYPE="{DTYPE}\n    query = query.softmax(dim=-1)",
)
mistake(
    "state-detached",
    "In `delta_rule` the state is cut out of the graph in each step, so nothing learns from what was written before.",
    WRITE="state = state.detach() + {SHARE} * {CHANGE}",
)
mistake(
    "beta-detached",
    "No gradient reaches beta: it is cut out of the graph.",
    SHARE="beta.detach()[:, :, i, None, None]",
    SHARES="shares = beta.detach()[..., None]",
)
mistake(
    "one-beta-for-all-heads",
    "The beta of the first head is used for all: each head has its own.",
    SHARE="beta[:, :1, i, None, None]",
    SHARES="shares = beta[:, :1, :, None]",
)
mistake(
    "output-alone-in-steps",
    "`delta_rule` returns the output alone: return the pair (output, state).",
    RETURN_STEPS="return torch.cat(outputs, dim=2)",
)
mistake(
    "output-alone",
    says("output-alone", PAIR="output, state"),
    RETURN_STEPS="return torch.cat(outputs, dim=2)",
    RETURN="return output.to(dtype)",
)
mistake(
    "state-in-float32",
    "In `delta_rule` the state is made in float32, whatever comes in: make it with `key.new_zeros`.",
    STATE="torch.zeros(*key.shape[:2], key.shape[3], value.shape[3], device=key.device)",
)
mistake(
    "state-on-the-cpu",
    "In `delta_rule` the state is made on the CPU: make it on the device of the key.",
    STATE="torch.zeros(*key.shape[:2], key.shape[3], value.shape[3], dtype=key.dtype)",
)
mistake(
    "input-changed",
    says("input-changed", X="value"),
    STATE="{STATE}\n    value.detach().mul_(1.001)",
)

# --- at once ----------------------------------------------------------------------------------------

mistake(
    "not-taken-off-at-once",
    "In `delta_rule_at_once` what was written before is not taken off, which is linear attention with beta: solve the"
    " equations.",
    LOWER="",
)
mistake(
    "diagonal-twice",
    "In `delta_rule_at_once` the products of each key with itself are part of the matrix: only what is below the"
    " diagonal, and ones on it.",
    BELOW=".tril()",
)
mistake(
    "whole-matrix",
    "In `delta_rule_at_once` the products above the diagonal are part of the matrix, so later tokens count: keep what"
    " is below it, `tril(-1)`.",
    BELOW="",
    SOLVE="torch.linalg.solve(lower, shares * value)",
)
mistake(
    "taken-off-once",
    "In `delta_rule_at_once` the values before are taken off, not what was written: that is one step of the solution,"
    " so solve the equations.",
    SOLVE="shares * value - before @ (shares * value)",
)
mistake(
    "sign-in-the-matrix",
    "In `delta_rule_at_once` the products are taken off the ones on the diagonal: they are added.",
    LOWER=" - before",
)
mistake(
    "beta-of-the-columns",
    "In `delta_rule_at_once` the columns of the matrix are multiplied by beta: row i has its own, beta_i.",
    BEFORE="before = (beta[..., None, :] * (key @ key.transpose(2, 3))).tril(-1)",
)
mistake(
    "beta-missing-in-the-matrix",
    "In `delta_rule_at_once` the matrix has no beta: row i is multiplied by beta_i.",
    BEFORE="before = (key @ key.transpose(2, 3)).tril(-1)",
)
mistake(
    "beta-missing-on-the-right",
    "In `delta_rule_at_once` the right side of the equations is v: it is beta times v.",
    RIGHT_SIDE="lower, value,",
)
mistake(
    "matrix-of-queries",
    "In `delta_rule_at_once` the matrix is made of queries and keys: it is the keys that the state is asked by.",
    BEFORE="before = (shares * (query @ key.transpose(2, 3))).tril(-1)",
)
mistake(
    "later-tokens-read",
    "In `delta_rule_at_once` queries also read what later tokens write: keep the lower triangle of their products.",
    OUTPUT="output = query @ key.transpose(2, 3) @ written",
)
mistake(
    "own-note-not-read",
    "In `delta_rule_at_once` a query does not read what its own token writes: the diagonal belongs to it.",
    OUTPUT="output = (query @ key.transpose(2, 3)).tril(-1) @ written",
)
mistake(
    "values-read",
    "In `delta_rule_at_once` the output is made of the values: it is what was written that is read, u.",
    OUTPUT="output = (query @ key.transpose(2, 3)).tril() @ value",
)
mistake(
    "state-of-the-values",
    "In `delta_rule_at_once` the state is made of the values: it is the sum of the keys times what was written, u.",
    FINAL="state = key.transpose(2, 3) @ value",
)
mistake(
    "state-transposed-at-once",
    "`delta_rule_at_once` returns the state transposed: (b, h, d, dv).",
    FINAL="state = written.transpose(2, 3) @ key",
)
mistake(
    "output-alone-at-once",
    "`delta_rule_at_once` returns the output alone: return the pair (output, state).",
    RETURN="return output.to(dtype)",
)
mistake(
    "looped",
    "`delta_rule_at_once` goes through the tokens one by one: solve the equations for all of them at once.",
    DTYPE="return delta_rule(query, key, value, beta)\n    {DTYPE}",
)
mistake(
    "no-half-precision",
    "In half precision `delta_rule_at_once` stops, since torch solves nothing in it: work in float32, and turn the"
    " results back.",
    WIDE="x",
)
mistake(
    "through-float32",
    says("through-float32", within="delta_rule_at_once"),
    WIDE="x.float()",
)
mistake(
    "float32-comes-out",
    says("float32-comes-out", within="delta_rule_at_once"),
    RETURN="return output, state",
)
mistake(
    "eye-on-the-cpu",
    "In `delta_rule_at_once` the ones of the diagonal are made on the CPU: make them on the device of the key.",
    EYE="torch.eye(key.shape[2], dtype=key.dtype)",
)
mistake(
    "solution-detached",
    "In `delta_rule_at_once` the matrix is cut out of the graph, so keys and beta get wrong gradients.",
    RIGHT_SIDE="lower.detach(), shares * value,",
)
BANK.share(roles.of(BANK))
