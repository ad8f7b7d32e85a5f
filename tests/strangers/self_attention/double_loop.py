# wrong: no softmax: the scores are divided by their sum; python loops
# expect: divided-by-the-sum
import torch


def self_attention(x):
    b, t, k = x.size()
    y = torch.zeros_like(x)
    for n in range(b):
        for i in range(t):
            w = torch.stack([torch.dot(x[n, i], x[n, j]) for j in range(t)])
            w = w / w.sum()
            for j in range(t):
                y[n, i] = y[n, i] + w[j] * x[n, j]
    return y
