# wrong: the last start is never drawn; no ValueError for a text that is too short
# expect: last-start-missing, too-short-not-refused
# also: last-start-missing-crash
import torch


def get_batch(data, block_size, batch_size, generator=None):
    high = len(data) - block_size - 1
    ix = torch.randint(high, (batch_size,), generator=generator)
    offsets = ix.unsqueeze(1) + torch.arange(block_size).unsqueeze(0)
    return data[offsets], data[offsets + 1]
