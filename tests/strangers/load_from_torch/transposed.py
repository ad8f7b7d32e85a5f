# wrong: the weights are copied transposed
# expect: transposed
# also: missing-biases-stay, missing-output-bias-stays, biases-dropped-silently
import torch


@torch.no_grad()
def load_from_torch(module, mha):
    d = mha.embed_dim
    big = mha.in_proj_weight
    module.W_query.weight.copy_(big[:d].T)
    module.W_key.weight.copy_(big[d : 2 * d].T)
    module.W_value.weight.copy_(big[2 * d :].T)
    module.out_proj.weight.copy_(mha.out_proj.weight.T)
    if mha.in_proj_bias is not None:
        for i, layer in enumerate([module.W_query, module.W_key, module.W_value]):
            if layer.bias is not None:
                layer.bias.copy_(mha.in_proj_bias[i * d : (i + 1) * d])
        module.out_proj.bias.copy_(mha.out_proj.bias)


class MultiHeadAttention(torch.nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError(f"{d_out} is not divisible by {num_heads}")
        self.num_heads, self.context_length = num_heads, context_length
        self.W_query = torch.nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = torch.nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = torch.nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = torch.nn.Linear(d_out, d_out)
        self.dropout = torch.nn.Dropout(dropout)
        self.register_buffer("mask", torch.tril(torch.ones(context_length, context_length)).bool())

    def forward(self, x):
        if x.dim() != 3:
            raise ValueError("(b, n, d_in)")
        b, n, _ = x.shape
        if n > self.context_length:
            raise ValueError(f"{n} tokens, context {self.context_length}")
        q = self.W_query(x).view(b, n, self.num_heads, -1).transpose(1, 2)
        k = self.W_key(x).view(b, n, self.num_heads, -1).transpose(1, 2)
        v = self.W_value(x).view(b, n, self.num_heads, -1).transpose(1, 2)
        s = q @ k.transpose(2, 3) / k.shape[-1] ** 0.5
        w = torch.softmax(s.masked_fill(~self.mask[:n, :n], float("-inf")), dim=-1)
        return self.out_proj((self.dropout(w) @ v).transpose(1, 2).flatten(2))
