"""How the storyteller's weights are stored: as float16, with neighbours as the pairs that rotation turns.

The stored numbers define the storyteller: what it writes and scores is what these numbers write and score. They are
rounded to 7 significant bits, so a notebook can hold them as a text of some 200,000 characters, and needs no network.
"""

import base64
import hashlib
import math
import zlib
from pathlib import Path

import torch

from .model import SHAPE, Storyteller

FILE = Path(__file__).with_name("weights.txt")
ROUNDED = 4  # so many of a float16's last bits are 0
LINE = 4000  # characters; shorter lines make a notebook that is long to scroll through


def shapes(words: int) -> dict[str, tuple[int, ...]]:
    """Names and shapes in the order in which they are stored."""
    d, heads, key_heads, hidden = (SHAPE[name] for name in ("d", "heads", "key_heads", "hidden"))
    keys = d // heads * key_heads
    block = {
        "attention_norm.weight": (d,),
        "attention.W_query.weight": (d, d),
        "attention.W_key.weight": (keys, d),
        "attention.W_value.weight": (keys, d),
        "attention.out_proj.weight": (d, d),
        "mlp_norm.weight": (d,),
        "mlp.W_gate.weight": (hidden, d),
        "mlp.W_up.weight": (hidden, d),
        "mlp.W_down.weight": (d, hidden),
    }
    found: dict[str, tuple[int, ...]] = {"table": (words, d)}
    for layer in range(SHAPE["layers"]):
        found |= {f"layers.{layer}.{name}": shape for name, shape in block.items()}
    return found | {"norm.weight": (d,)}


def neighbours(weight: torch.Tensor, back: bool = False) -> torch.Tensor:
    """The rows of a query or key projection, head by head: halves as pairs -> neighbours as pairs, or back."""
    width = SHAPE["d"] // SHAPE["heads"]
    order = torch.arange(width).view(2, -1).T.flatten()  # 0, 8, 1, 9, …
    order = order.argsort() if back else order
    return weight.view(-1, width, weight.shape[1])[:, order].flatten(0, 1)


def rounded(weight: torch.Tensor) -> torch.Tensor:
    bits = weight.half().view(torch.int16)
    return ((bits + (1 << (ROUNDED - 1))) & -(1 << ROUNDED)).view(torch.float16)


def pack(model: Storyteller, halves: bool = False) -> str:
    """The weights as text: high bytes, then low ones, compressed, in base 85, in lines.

    With `halves`, pairs are halves, as lesson 08's layers want them; otherwise neighbours.
    """
    state = model.state_dict()
    parts = []
    for name, shape in shapes(len(state["table"])).items():
        weight = state[name]
        assert tuple(weight.shape) == shape
        turned = neighbours(weight) if not halves and ("W_query" in name or "W_key" in name) else weight
        parts.append(rounded(turned).flatten())
    planes = torch.cat(parts).view(torch.uint8).view(-1, 2).T.flip(0).contiguous()
    text = base64.b85encode(zlib.compress(bytes(planes.flatten().tolist()), 9)).decode()
    return "\n".join(text[start : start + LINE] for start in range(0, len(text), LINE))


def unpack(text: str, words: int) -> tuple[dict[str, torch.Tensor], str]:
    """The weights by their names, as stored but in float32, and the SHA-256 of their bytes."""
    raw = zlib.decompress(base64.b85decode("".join(text.split())))
    high, low = torch.frombuffer(bytearray(raw), dtype=torch.uint8).view(2, -1)
    numbers = torch.stack([low, high], dim=1).view(torch.float16).flatten().float()
    wanted = shapes(words)
    cut = numbers.split([math.prod(shape) for shape in wanted.values()])
    stored = {name: part.view(shape) for (name, shape), part in zip(wanted.items(), cut, strict=True)}
    return stored, hashlib.sha256(raw).hexdigest()


def load(text: str, words: int) -> Storyteller:
    """The storyteller with stored weights."""
    stored, _ = unpack(text, words)
    model = Storyteller(words, **SHAPE)
    state = {
        name: neighbours(weight, back=True) if "W_query" in name or "W_key" in name else weight
        for name, weight in stored.items()
    }
    model.load_state_dict(state)
    return model.eval()
