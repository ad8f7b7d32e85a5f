"""What layers of Hugging Face's `transformers` compute, for `tests/exercises/transformers_numbers.json`.

    python tests/support/transformers_numbers.py

The package is needed for this alone, in an environment of its own: nothing in the project depends on it. Weights are
drawn with few digits, and stand in the file under the names that the exercises give them. Layers run in float64, but
their norms and angles are made in float32, so outputs have the digits of that.
"""

import json
from pathlib import Path

import torch
import transformers
from transformers.models.gpt_oss import modeling_gpt_oss as gpt_oss
from transformers.models.llama import modeling_llama as llama
from transformers.models.qwen3 import modeling_qwen3 as qwen3

FILE = Path(__file__).parents[1] / "exercises" / "transformers_numbers.json"
T = 6
OUR_NAMES = {
    "input_layernorm": "attention_norm",
    "post_attention_layernorm": "mlp_norm",
    "self_attn": "attention",
    "gate_proj": "W_gate",
    "up_proj": "W_up",
    "down_proj": "W_down",
    "q_proj": "W_query",
    "k_proj": "W_key",
    "v_proj": "W_value",
    "o_proj": "out_proj",
}
SIZES = {
    "hidden_size": 16,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 12,
    "num_hidden_layers": 1,
    "attn_implementation": "eager",
}


def drawn(*shape):
    return (torch.randn(shape, dtype=torch.float64) * 1000).round() / 1000


def with_weights(layer):
    """The layer in float64, with weights of order one."""
    layer = layer.double().eval()
    for name, parameter in layer.named_parameters():
        is_matrix = parameter.dim() == 2 and not name.endswith("sinks")
        parameter.data = drawn(*parameter.shape) * (0.5 if is_matrix else 1.0)
    return layer


def ours(state):
    """The weights under our names."""
    return {".".join(OUR_NAMES.get(part, part) for part in name.split(".")): w for name, w in state.items()}


def called(module, config, layer, x):
    """What a layer makes of x, at positions from 0 and under a causal mask."""
    positions = module_rotary(module)(config)(x, torch.arange(T)[None])
    hidden = torch.full((T, T), -torch.inf, dtype=torch.float64).triu(1)
    with torch.no_grad():
        return layer(hidden_states=x, attention_mask=hidden[None, None], position_embeddings=positions)


def module_rotary(module):
    return next(getattr(module, name) for name in dir(module) if name.endswith("RotaryEmbedding"))


def decoder_layer(module, name, base, **options):
    """A whole layer, and its attention by itself."""
    rope = {"rope_type": "default", "rope_theta": base}
    config = getattr(transformers, f"{name}Config")(**SIZES, **options, rope_parameters=rope)
    layer = with_weights(getattr(module, f"{name}DecoderLayer")(config, layer_idx=0))
    x = drawn(2, T, config.hidden_size)
    return {
        "num_heads": config.num_attention_heads,
        "num_kv_heads": config.num_key_value_heads,
        "head_dim": config.head_dim,
        "hidden": config.intermediate_size,
        "rope_base": base,
        "weights": ours(layer.state_dict()),
        "x": x,
        "attention": called(module, config, layer.self_attn, x)[0],
        "block": called(module, config, layer, x),
    }


def attention_with_sinks():
    """What the attention of GptOss gets after projection and rotation, and what it returns before the last one."""
    rope = {"rope_type": "default", "rope_theta": 150000.0}
    config = transformers.GptOssConfig(**SIZES, head_dim=4, layer_types=["full_attention"], rope_parameters=rope)
    attention = with_weights(gpt_oss.GptOssAttention(config, layer_idx=0))
    seen, original = {}, gpt_oss.eager_attention_forward

    def watched(module, query, key, value, mask, scaling, **options):
        output, weights = original(module, query, key, value, mask, scaling, **options)
        key, value = (gpt_oss.repeat_kv(z, module.num_key_value_groups) for z in (key, value))
        seen.update(query=query, key=key, value=value, sink=module.sinks, mask=mask[0, 0] == 0)
        seen.update(output=output.transpose(1, 2), weights=weights)  # (b, h, t, d), (b, h, t, t)
        return output, weights

    gpt_oss.eager_attention_forward = watched
    called(gpt_oss, config, attention, drawn(1, T, config.hidden_size))
    return seen


def plain(value):
    """Tensors as lists, numbers with nine digits."""
    if isinstance(value, torch.Tensor):
        return plain(value.tolist())
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    if isinstance(value, list):
        return [plain(one) for one in value]
    return float(f"{value:.9g}") if isinstance(value, float) else value


def main():
    torch.manual_seed(0)
    found = {
        "versions": {"transformers": transformers.__version__, "torch": torch.__version__},
        "Llama": decoder_layer(llama, "Llama", 10000.0),
        "Qwen3": decoder_layer(qwen3, "Qwen3", 1000000.0, head_dim=6),
        "GptOss": attention_with_sinks(),
    }
    FILE.write_text(json.dumps(plain(found), separators=(",", ":")).replace('],"', '],\n"') + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
