# wrong: the sink's column stays in the weights that are returned; empty rows and the sink are masked with -1e9
# expect: column-returned, mask-hides-the-sink, mask-fills-with-billion
import torch
import torch.nn.functional as F


def sink_attention(query, key, value, sink, mask=None):
    n_rows = query.shape[2]
    QK = torch.einsum("bhqd,bhkd->bhqk", query, key) * query.shape[-1] ** -0.5
    S = sink.reshape(1, -1, 1, 1).expand(query.shape[0], -1, n_rows, 1)
    QK = torch.cat([QK, S], dim=-1)
    if mask is not None:
        mask = F.pad(mask.expand(QK[..., :-1].shape), (0, 1), value=False)
        QK = QK.masked_fill(~mask, -1e9)
    W = torch.softmax(QK, dim=-1)
    return W[..., :-1] @ value, W
