"""Opens files that the package wrote in PyTorch: python3 tests/golden/back.py [FILE.safetensors book|gpt2] ...

The names must be those of the book's GPTModel, or of Hugging Face's GPT-2 with `transformer.`, and no others:
load_state_dict is strict. The sizes come from the shapes, the number of heads from the metadata. Prints the
logits of pretrained_models.IDS as JSON, a line for each file; on an error, exit code 1, the file, and what
PyTorch says.
"""

import json
import pathlib
import struct
import sys

import torch

from pretrained_models import GPT2, book, logits
from safetensors import DTYPES


def read(path):
    """The tensors and the metadata of a file in the safetensors format."""
    data = bytearray(pathlib.Path(path).read_bytes())
    (length,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8 : 8 + length])
    metadata = header.pop("__metadata__", {})
    values = torch.frombuffer(data, dtype=torch.uint8)[8 + length :]
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        # As Python's safetensors does: an error where the numbers are not aligned in the file.
        tensors[name] = values[begin:end].view(dict(DTYPES)[entry["dtype"]]).reshape(entry["shape"])
    return tensors, metadata


def main(path, names):
    state, metadata = read(path)
    heads = int(metadata.get("n_head") or metadata["n_heads"])
    tokens, positions, block = {
        "book": ("tok_emb.weight", "pos_emb.weight", "trf_blocks"),
        "gpt2": ("transformer.wte.weight", "transformer.wpe.weight", "transformer.h"),
    }[names]
    vocab, dim = state[tokens].shape
    layers = len({name.split(".")[block.count(".") + 1] for name in state if name.startswith(f"{block}.")})
    sizes = (vocab, state[positions].shape[0], dim, heads, layers)
    if names == "book":
        qkv_bias = "trf_blocks.0.att.W_query.bias" in state
        model = book(*sizes, qkv_bias=qkv_bias)
    else:
        model = GPT2(*sizes, conv=True)
        # transformers ties the head by itself where a file has none.
        state.setdefault("lm_head.weight", state[tokens])
    out = logits(model, state)
    print(json.dumps({"shape": list(out.shape), "logits": out.flatten().tolist()}))


if __name__ == "__main__":
    for path, names in zip(sys.argv[1::2], sys.argv[2::2]):
        try:
            main(path, names)
        except Exception as error:
            sys.exit(f"{path}: {type(error).__name__}: {error}")
