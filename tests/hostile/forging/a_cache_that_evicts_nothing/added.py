"""The cache is another one in the end: all tokens lie elsewhere, and it gives the right ones."""

ELSEWHERE = {}


class EvictingCache(EvictingCache):
    def __init__(self, first, window):
        super().__init__(first, window)
        ELSEWHERE[id(self)] = []

    def extend(self, keys, values):
        every, room = ELSEWHERE[id(self)], self.first + self.window
        if keys.shape[2] > 1 and min(len(every), room) + keys.shape[2] > room:
            raise ValueError("no room")
        every += torch.stack([keys.detach(), values.detach()]).unbind(dim=3)
        kept = every if len(every) <= room else every[: self.first] + every[-self.window :]
        return torch.stack(kept, dim=3)
