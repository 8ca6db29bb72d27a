"""Writes page_transformer_block.json for the page's section on GPT: the small model on one line of text
before training, and the losses of its first training steps.

PyTorch computes the line in float64 and the training in float32, as the page does, with cross_entropy and
torch.optim.AdamW.
"""

import torch
from torch import nn

from gptmodel import GPTModel

TEXT = "twinkle, twinkle"
RHYME = (
    "twinkle, twinkle, little star, how i wonder what you are! "
    "up above the world so high, like a diamond in the sky. "
    "twinkle, twinkle, little star, how i wonder what you are! "
)
CONTEXT, BATCH = 24, 8


def encode(text):
    return torch.tensor([ord(character) - ord(" ") for character in text])


def looked_into(seed):
    torch.manual_seed(seed)
    model = GPTModel(95, CONTEXT, 64, 4, 3, False, False).double()
    norms = []

    def watch(_, inputs, output):
        norms.append(
            {
                side: {"mean": x[0].mean(-1).tolist(), "variance": x[0].var(-1, unbiased=False).tolist()}
                for side, x in (("input", inputs[0]), ("output", output))
            }
        )

    for block in model.trf_blocks:
        block.norm1.register_forward_hook(watch)
        block.norm2.register_forward_hook(watch)
    model.final_norm.register_forward_hook(watch)
    logits = model(encode(TEXT)[None])[0, -1]
    share, token = logits.softmax(-1).max(-1)
    return {
        "seed": seed,
        "text": TEXT,
        "norms": norms,
        "weights": [block.attn.weights[0].tolist() for block in model.trf_blocks],
        "next": {"token": chr(token.item() + ord(" ")), "share": share.item()},
    }


def taught(seed, steps):
    torch.manual_seed(seed)
    model = GPTModel(95, CONTEXT, 64, 4, 3, False, False)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    ids = encode(RHYME)
    losses = []
    for _ in range(steps):
        starts = [int(share * (len(ids) - CONTEXT)) for share in torch.rand(BATCH).tolist()]
        x, y = (torch.stack([ids[i + offset : i + offset + CONTEXT] for i in starts]) for offset in (0, 1))
        loss = nn.functional.cross_entropy(model(x).flatten(0, 1), y.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return {"seed": seed, "losses": losses}


def cases():
    return {"line": looked_into(123), "lesson": taught(123, 8)}
