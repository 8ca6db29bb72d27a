"""Writes page_training.json for the page's section on training: the first losses of a small GPT that learns to
sort letters, with layer norms and without; and what a stack of Linear and ReLU makes of a row.

The model is layers.py's, in float64 from float32 weights; cross_entropy and torch.optim.AdamW train it.
"""

import math

import torch
from common import pack
from layers import GPTModel
from torch import nn

LETTERS, TOKENS, BATCH, WIDTH, HEADS, STEPS = 6, 6, 16, 48, 3, 12
SEED = 2
IGNORED = -100


def losses(blocks, rate, norms):
    torch.manual_seed(SEED)
    model = GPTModel(LETTERS, 2 * TOKENS - 1, WIDTH, HEADS, blocks, qkv_bias=True, tied=False)
    if not norms:
        model.final_norm = nn.Identity()
        for block in model.trf_blocks:
            block.norm1, block.norm2 = nn.Identity(), nn.Identity()
    model.double()
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate)
    found = []
    for _ in range(STEPS):
        rows = (torch.rand(BATCH, TOKENS).double() * LETTERS).long()
        answers = rows.sort(dim=1).values
        ids = torch.cat([rows, answers[:, :-1]], dim=1)
        targets = torch.cat([torch.full((BATCH, TOKENS - 1), IGNORED), answers], dim=1)
        loss = nn.functional.cross_entropy(model(ids).flatten(0, 1), targets.flatten(), ignore_index=IGNORED)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return pack(torch.tensor(found, dtype=torch.float64))


def deviations(gain, width=64, layers=(1, 2, 4, 8)):
    """Of what some of the Linears put out, before their ReLU."""
    torch.manual_seed(123)
    x = torch.randn(1, width).double()
    found = []
    for layer in range(1, max(layers) + 1):
        y = x @ (torch.randn(width, width).double() * gain / math.sqrt(width))
        if layer in layers:
            found.append(y.std(unbiased=False).item())
        x = torch.relu(y)
    return pack(torch.tensor(found, dtype=torch.float64))


def cases():
    return {
        "training": [
            {
                "settings": settings,
                "with": losses(**settings, norms=True),
                "without": losses(**settings, norms=False),
            }
            for settings in (
                {"blocks": 3, "rate": 0.001},
                {"blocks": 2, "rate": 0.002},
            )
        ],
        "stacks": [{"gain": gain, "deviations": deviations(gain)} for gain in (0.58, 2)],
    }
