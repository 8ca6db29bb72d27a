"""Writes gptmodel.json: GPT-2's block and model with their gradients, and the losses of twenty training
steps; and texts that go on past a full context.

PyTorch computes in float64; autograd gives the gradients. The training steps use cross_entropy and
torch.optim.AdamW.

A case of a block or model: after manual_seed(seed) the module is made; `shake` draws every vector (biases,
scales, shifts) anew, in the order of named_parameters, and multiplies attention's matrices by 16, since with
the initial N(0, 0.02) all tokens would have nearly the same weight. Then x (for the block) and the gradient
of the output are drawn.
"""

import pathlib

import torch
from torch import nn

from attention import Attention
from common import FeedForward, LayerNorm, gradients, pack

TEXT = pathlib.Path(__file__).parent.parent / "training" / "alice.txt"


class TransformerBlock(nn.Module):
    def __init__(self, dim, heads, qkv_bias):
        super().__init__()
        self.attn = Attention(dim, heads, qkv_bias)
        self.ff = FeedForward(dim)
        self.norm1, self.norm2 = LayerNorm(dim), LayerNorm(dim)

    def forward(self, x):
        x = x + self.attn(self.norm1(x))
        return x + self.ff(self.norm2(x))


class GPTModel(nn.Module):
    def __init__(self, vocab, context, dim, heads, layers, qkv_bias, tied):
        super().__init__()
        self.tok_emb, self.pos_emb = nn.Embedding(vocab, dim), nn.Embedding(context, dim)
        self.trf_blocks = nn.Sequential(*(TransformerBlock(dim, heads, qkv_bias) for _ in range(layers)))
        self.final_norm = LayerNorm(dim)
        self.out_head = nn.Linear(dim, vocab, bias=False)
        if tied:
            self.tok_emb.weight = self.out_head.weight
            for embedding in (self.tok_emb, self.pos_emb):
                nn.init.normal_(embedding.weight, std=0.02)

    def forward(self, ids):
        x = self.tok_emb(ids) + self.pos_emb(torch.arange(ids.shape[1]))
        return self.out_head(self.final_norm(self.trf_blocks(x)))


def shake(module):
    for name, parameter in module.named_parameters():
        if parameter.dim() == 1:
            parameter.data = torch.randn(parameter.shape)
        elif "attn" in name:
            parameter.data *= 16
    return module


def block(seed, batch, tokens, heads, size, qkv_bias):
    dim = heads * size
    torch.manual_seed(seed)
    module = shake(TransformerBlock(dim, heads, qkv_bias))
    x, dy = torch.randn(batch, tokens, dim), torch.randn(batch, tokens, dim)
    return {
        "seed": seed,
        "embDim": dim,
        "nHeads": heads,
        "qkvBias": qkv_bias,
        "x": [batch, tokens, dim],
        **gradients(module, x, dy=dy),
    }


VOCAB, CONTEXT = 17, 11


def config_of(heads, size, layers, qkv_bias, tied):
    return {
        "vocabSize": VOCAB,
        "contextLength": CONTEXT,
        "embDim": heads * size,
        "nHeads": heads,
        "nLayers": layers,
        "qkvBias": qkv_bias,
        "tieWeights": tied,
    }


def some_ids(seed, count):
    return (torch.arange(count) * 5 + seed).remainder(VOCAB)


def model(seed, batch, tokens, heads, size, layers, qkv_bias, tied):
    torch.manual_seed(seed)
    module = shake(GPTModel(VOCAB, CONTEXT, heads * size, heads, layers, qkv_bias, tied))
    ids = some_ids(seed, batch * tokens).reshape(batch, tokens)
    dy = torch.randn(batch, tokens, VOCAB)
    module.double().zero_grad()
    out = module(ids)
    out.backward(dy.double())
    return {
        "seed": seed,
        "ids": ids.tolist(),
        "config": config_of(heads, size, layers, qkv_bias, tied),
        "out": pack(out),
        "grads": {name: pack(p.grad) for name, p in module.named_parameters()},
        "parameters": {name: pack(p.float()) for name, p in module.named_parameters()} if seed == 1 else None,
    }


@torch.no_grad()
def generated(seed, tokens):
    """The most probable tokens as nanoGPT writes them, each computed from the last CONTEXT tokens.

    Attention's matrices are multiplied by 50: otherwise the same tokens would follow nearly every text.
    """
    heads, size, layers = 2, 3, 2
    torch.manual_seed(seed)
    module = GPTModel(VOCAB, CONTEXT, heads * size, heads, layers, qkv_bias=True, tied=False)
    for name, parameter in module.named_parameters():
        if "attn" in name and parameter.dim() == 2:
            parameter *= 50
    module.double()
    text = some_ids(seed, tokens).tolist()
    for _ in range(20):
        text.append(module(torch.tensor([text[-CONTEXT:]]))[0, -1].argmax().item())
    config = config_of(heads, size, layers, True, False)
    return {"seed": seed, "config": config, "ids": text[:tokens], "written": text[tokens:]}


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
        "blocks": [
            block(1, 1, 1, 1, 1, True),
            block(2, 2, 3, 3, 1, True),
            block(3, 1, 17, 1, 3, False),
            block(4, 2, 5, 3, 5, True),
        ],
        "models": [
            model(1, 2, 7, 2, 3, 2, True, False),
            model(2, 2, 7, 2, 3, 2, False, False),
            model(3, 1, 11, 2, 3, 1, True, True),
            model(4, 3, 1, 1, 3, 2, False, True),
            model(5, 2, 11, 3, 5, 1, True, True),
        ],
        "generated": [generated(6, 3), generated(7, 11), generated(8, 14)],
        "training": [training(False), training(True)],
    }
