# wrong: a softmax in each block, and the mean of the blocks; causal is not looked at
# expect: blocks-averaged, causal-ignored, ?
# also: fact-empty-list
import torch


def tiled_attention(q, k, v, block_size, causal=False):
    if block_size < 1:
        raise ValueError(f"block_size = {block_size}")
    outputs = []
    for i in range(0, k.size(2), block_size):
        k_block = k[:, :, i : i + block_size, :]
        v_block = v[:, :, i : i + block_size, :]
        attn = torch.softmax(q @ k_block.transpose(2, 3) / q.size(-1) ** 0.5, dim=-1)
        outputs.append(attn @ v_block)
    return torch.stack(outputs).mean(dim=0)
