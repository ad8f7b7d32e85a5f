# wrong: in_proj is cut in the wrong order: keys first; biases are not copied
# expect: key-comes-first, biases-forgotten
# also: output-bias-forgotten, missing-biases-stay, missing-output-bias-stays, biases-dropped-silently
import torch


def load_from_torch(module, mha):
    with torch.no_grad():
        w_k, w_q, w_v = mha.in_proj_weight.chunk(3)
        module.W_key.weight.copy_(w_k)
        module.W_query.weight.copy_(w_q)
        module.W_value.weight.copy_(w_v)
        module.out_proj.weight.copy_(mha.out_proj.weight)


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
