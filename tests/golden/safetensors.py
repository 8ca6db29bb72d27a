"""Writes safetensors.json: files in the safetensors format, and the tensors in them.

The files follow the format's specification, https://github.com/huggingface/safetensors#format, in the order
and alignment of its Python library. PyTorch's float() gives the expected float32 values of every dtype.
"""

import base64
import json
import struct

import torch
from torch import nn

from common import in_float64, pack

# In the order of the Python library, which writes the tensors of the last dtype first.
DTYPES = [
    ("BOOL", torch.bool),
    ("U8", torch.uint8),
    ("I8", torch.int8),
    ("I16", torch.int16),
    ("F16", torch.float16),
    ("BF16", torch.bfloat16),
    ("I32", torch.int32),
    ("F32", torch.float32),
    ("F64", torch.float64),
    ("I64", torch.int64),
]


def data_of(tensor):
    """A tensor's bytes, little-endian. NumPy has no bfloat16, so its bits are taken as int16."""
    return (
        (tensor.view(torch.int16) if tensor.dtype == torch.bfloat16 else tensor)
        .contiguous()
        .numpy()
        .tobytes()
    )


def file_of(tensors, metadata=None):
    """The bytes of safetensors.torch.save(tensors, metadata)."""
    order = [dtype for _, dtype in DTYPES]
    header, data = {"__metadata__": metadata} if metadata else {}, b""
    for name, tensor in sorted(tensors.items(), key=lambda item: (-order.index(item[1].dtype), item[0])):
        part = data_of(tensor)
        header[name] = {
            "dtype": DTYPES[order.index(tensor.dtype)][0],
            "shape": list(tensor.shape),
            "data_offsets": [len(data), len(data) + len(part)],
        }
        data += part
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


def save(tensors, metadata=None):
    """The same in base64."""
    return base64.b64encode(file_of(tensors, metadata)).decode()


def cases():
    torch.manual_seed(123)
    state = nn.Sequential(nn.Linear(5, 6), nn.ReLU(), nn.Linear(6, 3)).state_dict()
    bits = torch.arange(-32768, 32768, 61, dtype=torch.int32).to(torch.int16)
    special = torch.tensor([0.0, -0.0, 1e-45, 3.4e38, float("inf"), float("-inf"), float("nan")])
    floats = {
        "f16": bits.view(torch.float16),
        "bf16": bits.view(torch.bfloat16),
        "f32": special,
        "f64": torch.tensor([[1.1, -1e300], [1e-300, 0.1]], dtype=torch.float64),
        "a.scalar": torch.tensor(1.5),
        "a.nothing": torch.zeros(3, 0),
    }
    integers = {
        name: torch.tensor(values, dtype=dtype)
        for name, dtype, values in (
            ("i64", torch.int64, [0, -5, 2**24, 2**40]),
            ("i32", torch.int32, [-(2**31), 7]),
            ("i16", torch.int16, [-(2**15), 9]),
            ("i8", torch.int8, [-128, 127]),
            ("u8", torch.uint8, [0, 255]),
            ("bool", torch.bool, [True, False]),
        )
    }
    mixed = {**floats, **integers, "größe": torch.ones(1)}
    norms = nn.Sequential(nn.LayerNorm(5), nn.BatchNorm1d(5), nn.Linear(5, 2, bias=False))
    norms(torch.randn(7, 5))  # updates the running statistics
    for parameter in norms.parameters():
        parameter.data = torch.randn(parameter.shape)
    x = torch.randn(3, 5)
    return {
        "state": {"file": save(state, {"format": "pt"}), "tensors": {k: pack(v) for k, v in state.items()}},
        "norms": {"file": save(norms.state_dict()), "x": pack(x), "out": pack(in_float64(norms.eval(), x))},
        "mixed": {"file": save(mixed), "tensors": {k: pack(v.float()) for k, v in mixed.items()}},
    }
