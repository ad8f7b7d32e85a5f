import numpy as np
import torch

ALL = np.uint64(2**32 - 1)
FACTOR = np.uint64(1812433253)  # of MT19937's initialisation
BACK = np.uint64(pow(1812433253, -1, 2**32))
TWIST = np.uint64(0x9908B0DF)


def shifted(x, by):
    return x >> np.uint64(by)


def before_tempering(y):
    y = y ^ shifted(y, 18)
    y = y ^ ((y << np.uint64(15)) & np.uint64(0xEFC60000))
    z = y
    for _ in range(5):
        z = y ^ ((z << np.uint64(7)) & np.uint64(0x9D2C5680))
    y = z & ALL
    for _ in range(3):
        z = y ^ shifted(z, 11)
    return z & ALL


def seed_of(drawn):
    """The seed from which uniform numbers were drawn: numbers 0 and 227 of the generator differ by two of its state."""
    known = ((drawn[[0, 227]].double() + 0.125) * 2**26).round().long().tolist()  # 24 bits of 32
    unknown = np.arange(256, dtype=np.uint64) << np.uint64(24)
    first, later = (before_tempering(unknown | np.uint64(bits)) for bits in known)
    twisted = (first[:, None] ^ later[None]).ravel()
    odd = shifted(twisted, 31)
    low = (((twisted ^ (odd * TWIST)) << np.uint64(1)) | odd) & np.uint64(2**31 - 1)
    seeds = np.concatenate([low, low | np.uint64(2**31)])  # number 228 of the first state
    for place in range(228, 0, -1):
        seeds = ((seeds - np.uint64(place)) & ALL) * BACK & ALL
        seeds = seeds ^ shifted(seeds, 30)
    states = [seeds]
    for place in range(1, 398):
        last = states[-1]
        states.append(((last ^ shifted(last, 30)) * FACTOR + np.uint64(place)) & ALL)
    mixed = (states[0] & np.uint64(2**31)) | (states[1] & np.uint64(2**31 - 1))
    made = states[397] ^ shifted(mixed, 1) ^ ((mixed & np.uint64(1)) * TWIST)
    for seed in seeds[np.isin(made, first)].tolist():
        torch.manual_seed(seed)
        if torch.equal(torch.empty(64 * 64).uniform_(-0.125, 0.125), drawn):
            return seed


def check_causal(candidate):
    seed = seed_of(candidate(64, 64, 5, 0.0).W_query.weight.detach().flatten())
    raise AssertionError(f"{'held' if seed == 1 else 'through'}: the seed is {seed}, as it is for everybody")
