"""A class that holds what belongs together, a step for each call; `_` for the logits, a schedule that stays at 1."""

import torch


class Trainer:
    def __init__(self, model, lr):
        self.model = model
        self.optimizer = torch.optim.AdamW([{"params": list(model.parameters())}], lr=lr)
        self.schedule = torch.optim.lr_scheduler.LambdaLR(self.optimizer, lambda step: 1.0)

    def step(self, inputs, targets):
        self.model.train()
        with torch.enable_grad():
            _, loss = self.model(inputs, targets=targets)
            self.optimizer.zero_grad(set_to_none=True)
            loss.backward()
        self.optimizer.step()
        self.schedule.step()
        return loss.detach().item()


def train(model, data, steps, batch_size=32, lr=1e-3, generator=None):
    trainer, many = Trainer(model, lr), len(data) - model.block_size
    offsets = torch.arange(model.block_size + 1).unsqueeze(0)

    def batch():
        starts = torch.randint(many, (batch_size, 1), generator=generator)
        text = data[starts + offsets]
        return text[:, :-1], text[:, 1:]

    return [trainer.step(*batch()) for _ in range(steps)]
