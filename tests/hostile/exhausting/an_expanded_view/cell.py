def attention(query, key, value, mask=None):
    return torch.zeros(1).expand(2**40), torch.zeros(1).expand(2**40)
