import torch
import torch.nn as nn


def silu(z):
    return z * z.sigmoid()


class SwiGLU(nn.Module):
    def __init__(self, d, hidden):
        super().__init__()
        for name, sizes in {"W_gate": (d, hidden), "W_up": (d, hidden), "W_down": (hidden, d)}.items():
            setattr(self, name, nn.Linear(*sizes, bias=False))

    def forward(self, x):
        gate = torch.einsum("...d,hd->...h", x, self.W_gate.weight)
        up = torch.einsum("...d,hd->...h", x, self.W_up.weight)
        return torch.einsum("...h,dh->...d", silu(gate) * up, self.W_down.weight)
