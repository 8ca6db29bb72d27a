"""Writes gptmodel.json: the losses of twenty training steps, and texts that go on past a full context.

PyTorch computes in float64, with layers.py's model, cross_entropy and torch.optim.AdamW.
"""

import pathlib

import torch
from torch import nn

from layers import CONTEXT, GPTModel, config, model, some_ids

TEXT = pathlib.Path(__file__).parent.parent / "training" / "alice.txt"


@torch.no_grad()
def generated(seed, tokens):
    """The most probable tokens as nanoGPT writes them, each computed from the last CONTEXT tokens.

    Attention's matrices are multiplied by 50: otherwise the same tokens would follow nearly every text.
    """
    given = config(2, 3, 2, True, False)
    torch.manual_seed(seed)
    module = model(given)
    for name, parameter in module.named_parameters():
        if "attn" in name and parameter.dim() == 2:
            parameter *= 50
    module.double()
    text = some_ids(1, tokens, seed)[0]
    for _ in range(20):
        text.append(module(torch.tensor([text[-CONTEXT:]]))[0, -1].argmax().item())
    return {"seed": seed, "config": given, "ids": text[:tokens], "written": text[tokens:]}


def training(tied):
    """Twenty steps of AdamW on four windows of 32 characters. Window i of step s begins at 101 s + 503 i."""
    text = TEXT.read_text()
    characters = sorted(set(text))
    tokens = torch.tensor([characters.index(character) for character in text])
    torch.manual_seed(123)
    module = GPTModel(len(characters), 32, 64, 4, 2, True, tied).double()
    optimizer = torch.optim.AdamW(module.parameters(), lr=3e-3)
    losses = []
    for step in range(20):
        starts = [(101 * step + 503 * i) % (len(text) - 33) for i in range(4)]
        ids = torch.stack([tokens[start : start + 32] for start in starts])
        targets = torch.stack([tokens[start + 1 : start + 33] for start in starts])
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(module(ids).flatten(0, 1), targets.flatten())
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return {"tieWeights": tied, "losses": losses}


def cases():
    return {
        "generated": [generated(6, 3), generated(7, 11), generated(8, 14)],
        "training": [training(False), training(True)],
    }
