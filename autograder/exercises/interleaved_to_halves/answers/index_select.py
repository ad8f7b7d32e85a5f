import torch


def order_of(rows, num_heads):
    d = rows // num_heads
    places = torch.arange(d)
    within = torch.cat([places[places % 2 == 0], places[places % 2 == 1]])
    return (torch.arange(num_heads)[:, None] * d + within).flatten()


def interleaved_to_halves(weight, num_heads):
    rows = weight.shape[0]
    if rows % (num_heads * 2) != 0:
        raise ValueError(f"expected a multiple of 2 * {num_heads} rows, got {rows}")
    return weight.index_select(0, order_of(rows, num_heads).to(weight.device))
