# %%
import math

import torch
from torch.nn import functional

saved = torch.load("ckpt.pt")
weights, sizes = saved["model"], saved["model_args"]
width = sizes["n_embd"]
print(sizes["n_layer"], "blocks of width", width)
print(sizes["vocab_size"], "tokens;", sizes["block_size"], "of them at once")

# %%
blocks = [f"transformer.h.{i}" for i in range(sizes["n_layer"])]
norms = [f"{block}.ln_{i}" for block in blocks for i in (1, 2)] + ["transformer.ln_f"]
for norm in norms:
    parts = [weights[f"{norm}.{name}"] for name in ("weight", "bias") if f"{norm}.{name}" in weights]
    print(", ".join(f"{x.mean():.3f} ± {x.std():.3f}" for x in parts))


# %%
def get(name):
    return weights[f"{name}.weight"], weights.get(f"{name}.bias")


def norm(x, name):
    return functional.layer_norm(x, (width,), *get(name))


def forward(ids):
    tokens = len(ids)
    x = weights["transformer.wte.weight"][ids] + weights["transformer.wpe.weight"][:tokens]
    for block in blocks:
        qkv = functional.linear(norm(x, f"{block}.ln_1"), *get(f"{block}.attn.c_attn"))
        split = (tokens, sizes["n_head"], -1)
        q, k, v = (part.view(split).transpose(0, 1) for part in qkv.chunk(3, dim=-1))
        future = torch.ones(tokens, tokens).triu(1) == 1
        scores = (q @ k.transpose(1, 2) / math.sqrt(q.shape[-1])).masked_fill(future, -math.inf)
        heads = (scores.softmax(-1) @ v).transpose(0, 1).reshape(tokens, width)
        x = x + functional.linear(heads, *get(f"{block}.attn.c_proj"))
        hidden = functional.linear(norm(x, f"{block}.ln_2"), *get(f"{block}.mlp.c_fc"))
        x = x + functional.linear(functional.gelu(hidden), *get(f"{block}.mlp.c_proj"))
    return functional.linear(norm(x, "transformer.ln_f"), weights["lm_head.weight"])[-1]


start = [3, 1, 4]
ids = list(start)
for _ in range(5):
    ids.append(forward(ids).argmax().item())
print(*ids[len(start) :])

# %%
top = forward(start).softmax(-1).topk(5)
for token, probability in zip(top.indices, top.values):
    print(token.item(), f"{probability:.3f}")
