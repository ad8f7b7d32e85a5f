"""What comes back is refused unless it is as much, of the kinds and with the names that were asked for."""

import torch

GIVEN = [torch.ones(2, 3, requires_grad=True), torch.ones(4), torch.ones(3, requires_grad=True)]
NAMED = {"weight": torch.Size([3, 2]), "bias": torch.Size([3])}
