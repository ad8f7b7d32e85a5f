# wrong: neighbours are pairs, as in Meta's code; positions (b, t) don't fit heads; an odd d is torch's own error
# expect: neighbours-turned, items-for-heads, odd-width-not-refused, through-float32
import torch


def apply_rope(x, positions, base=10000.0):
    d = x.shape[-1]
    freqs = 1.0 / (base ** (torch.arange(0, d, 2)[: (d // 2)].float().to(x.device) / d))
    freqs = positions.float()[..., None] * freqs
    freqs_cis = torch.polar(torch.ones_like(freqs), freqs)
    x_ = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
    x_out = torch.view_as_real(x_ * freqs_cis).flatten(-2)
    return x_out.type_as(x)
