"""Writes book.json: what the programs of web/examples/book compute, by the same model in PyTorch.

All is drawn from the seed 123. `chapter 2` to `chapter 4` are outputs in float32, from manual_seed(123) at the
beginning of each. Of chapter 5: a digest of each tensor before the training, the loss of each step of two epochs,
those of the evaluations at steps 0, 10 and 20, and 20 tokens drawn from the model after them. The tokens of the
text come from the npm package gpt-tokenizer, by Node.
"""

import hashlib
import json
import math
import pathlib
import subprocess

import torch
from torch import nn
from torch.nn import functional

from common import FeedForward, pack
from layers import LayerNorm

ROOT = pathlib.Path(__file__).parents[2]
CONFIG = {
    "vocab_size": 50257,
    "context_length": 32,
    "emb_dim": 64,
    "n_heads": 4,
    "n_layers": 2,
    "qkv_bias": False,
}
START = '"The time has come,"'


def encode(*texts):
    """The tokens of each text."""
    code = """
        import { encode } from 'gpt-tokenizer/encoding/r50k_base'
        console.log(JSON.stringify(JSON.parse(process.argv[1]).map((text) => encode(text))))"""
    command = ["node", "--input-type=module", "--eval", code, json.dumps(texts)]
    return json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout)


def batches(tokens, size, length, *, shuffle=True, drop_last=True):
    """Windows of the text and the tokens that follow, as torch.utils.data.DataLoader gives them; the order is drawn
    from the one generator that draws all.
    """
    rows = [torch.tensor(tokens[i : i + length + 1]) for i in range(0, len(tokens) - length, length)]
    order = torch.randperm(len(rows)).tolist() if shuffle else list(range(len(rows)))
    for i in range(0, len(rows) - (size - 1 if drop_last else 0), size):
        chosen = torch.stack([rows[j] for j in order[i : i + size]])
        yield chosen[:, :-1], chosen[:, 1:]


def attend(q, k, v, heads=1, *, causal=True):
    """Attention of [..., tokens, dim], split into heads."""
    *batch, tokens, dim = q.shape
    q, k, v = (t.reshape(*batch, tokens, heads, dim // heads).transpose(-3, -2) for t in (q, k, v))
    scores = q @ k.transpose(-2, -1) / math.sqrt(dim // heads)
    if causal:
        future = torch.ones(tokens, tokens, dtype=torch.bool).triu(1)
        scores = scores.masked_fill(future, -math.inf)
    return (scores.softmax(-1) @ v).transpose(-3, -2).reshape(*batch, tokens, dim)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, num_heads, qkv_bias=False):
        super().__init__()
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.register_buffer("mask", torch.triu(torch.ones(context_length, context_length), diagonal=1))

    def forward(self, x):
        keys, queries, values = self.W_key(x), self.W_query(x), self.W_value(x)  # the book's order, for its bits
        return self.out_proj(attend(queries, keys, values, self.num_heads))


class TransformerBlock(nn.Module):
    def __init__(self, config):
        super().__init__()
        dim = config["emb_dim"]
        self.att = MultiHeadAttention(dim, dim, config["context_length"], config["n_heads"], config["qkv_bias"])
        self.ff = FeedForward(dim)
        self.norm1 = LayerNorm(dim)
        self.norm2 = LayerNorm(dim)

    def forward(self, x):
        x = x + self.att(self.norm1(x))
        return x + self.ff(self.norm2(x))


class GPTModel(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.tok_emb = nn.Embedding(config["vocab_size"], config["emb_dim"])
        self.pos_emb = nn.Embedding(config["context_length"], config["emb_dim"])
        self.trf_blocks = nn.Sequential(*[TransformerBlock(config) for _ in range(config["n_layers"])])
        self.final_norm = LayerNorm(config["emb_dim"])
        self.out_head = nn.Linear(config["emb_dim"], config["vocab_size"], bias=False)

    def forward(self, in_idx):
        _, tokens = in_idx.shape
        x = self.tok_emb(in_idx) + self.pos_emb(torch.arange(tokens))
        return self.out_head(self.final_norm(self.trf_blocks(x)))


def loss_of(model, inputs, targets):
    return functional.cross_entropy(model(inputs).flatten(0, 1), targets.flatten())


def generate(model, idx, max_new_tokens, context_size, temperature=0.0, top_k=None):
    for _ in range(max_new_tokens):
        with torch.no_grad():
            logits = model(idx[:, -context_size:])[:, -1, :]
        if top_k is not None:
            least = torch.topk(logits, top_k).values[:, -1:]
            logits = logits.masked_fill(logits < least, -torch.inf)
        if temperature > 0:
            following = torch.multinomial(torch.softmax(logits / temperature, dim=-1), num_samples=1)
        else:
            following = torch.argmax(logits, dim=-1, keepdim=True)
        idx = torch.cat((idx, following), dim=1)
    return idx


def chapter2(tokens):
    inputs, _ = next(batches(tokens, 2, 4, shuffle=False))
    torch.manual_seed(123)
    token_embedding = nn.Embedding(50257, 8)
    return {"embedded": pack(token_embedding(inputs) + nn.Embedding(4, 8)(torch.arange(4)))}


def chapter3():
    torch.manual_seed(123)
    inputs = torch.rand(6, 3)
    batch = torch.stack([inputs, inputs])

    def projected(x, size):
        layers = [nn.Linear(3, size, bias=False) for _ in range(3)]
        return [layer(x) for layer in layers]

    found = {
        "simpleSelfAttention": torch.softmax(inputs @ inputs.T, dim=-1) @ inputs,
        "SelfAttention_v1": attend(*[inputs @ weight for weight in [torch.rand(3, 2) for _ in range(3)]], causal=False),
        "SelfAttention_v2": attend(*projected(inputs, 2), causal=False),
        "CausalAttention": attend(*projected(batch, 2)),
        "MultiHeadAttentionWrapper": torch.cat([attend(*projected(batch, 1)) for _ in range(2)], dim=-1),
        "MultiHeadAttention": MultiHeadAttention(3, 2, 6, 2)(batch),
    }
    return {name: pack(out) for name, out in found.items()}


def chapter4():
    torch.manual_seed(123)
    model = GPTModel(CONFIG)
    idx = torch.tensor(encode("The time has come"))
    written = generate(model, idx, 6, CONFIG["context_length"])
    return {"logits": pack(model(idx)[..., :8]), "written": written[0].tolist()}


def chapter5(text):
    border = math.floor(0.9 * len(text))
    training, validation, start = encode(text[:border], text[border:], START)
    torch.manual_seed(123)
    model = GPTModel(CONFIG)
    weights = {
        name: hashlib.sha256(tensor.numpy().tobytes()).hexdigest() for name, tensor in model.state_dict().items()
    }
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3, weight_decay=0.1)
    losses, evaluations = [], []
    for _ in range(2):
        for inputs, targets in batches(training, 2, 32):
            optimizer.zero_grad()
            loss = loss_of(model, inputs, targets)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            if len(losses) % 10 == 1:
                with torch.no_grad():
                    seen = loss_of(model, *next(batches(training, 2, 32))).item()
                    unseen = loss_of(model, *next(batches(validation, 2, 32, shuffle=False, drop_last=False))).item()
                evaluations.append({"trainLoss": seen, "valLoss": unseen})
    torch.manual_seed(123)
    drawn = generate(model, torch.tensor([start]), 20, CONFIG["context_length"], 1.4, 25)
    return {
        "weights": weights,
        "losses": losses,
        "evaluations": evaluations,
        "drawn": drawn[0].tolist(),
    }


def cases():
    text = (ROOT / "web/examples/book/walrus.txt").read_text()
    [tokens] = encode(text)
    return {
        "chapter 2": chapter2(tokens),
        "chapter 3": chapter3(),
        "chapter 4": chapter4(),
        "chapter 5": chapter5(text),
    }
