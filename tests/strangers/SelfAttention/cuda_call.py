# wrong: .cuda() wherever there is a GPU or not; softmax over the queries of a batch
# expect: softmax-over-dim-1, ?
# also: rank-not-checked
import torch
from torch import nn
from torch.autograd import Variable


class SelfAttention(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias).cuda()
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias).cuda()
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias).cuda()

    def forward(self, x):
        x = Variable(x).cuda()
        q = self.W_query(x)
        k = self.W_key(x)
        v = self.W_value(x)
        w = nn.Softmax(dim=1)(torch.matmul(q, k.transpose(-2, -1)) / k.size(-1) ** 0.5)
        return torch.matmul(w, v)
