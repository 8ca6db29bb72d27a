"""Writes book.json: what the programs of web/examples/book compute, by the same model in PyTorch.

Each class here has its counterpart of the same name there, from the seed 123. `chapter 2` to `chapter 4` are
outputs in float32, from manual_seed(123) at the beginning of each. Of chapter 5: a digest of each tensor before
the training, the loss of each step of two epochs, those of the evaluations at steps 0, 10 and 20, and 20 tokens
drawn from the model after them. The tokens of the text come from the npm package gpt-tokenizer, by Node.
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
    "drop_rate": 0.0,
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


class GPTDatasetV1:
    def __init__(self, tokens, max_length, stride):
        starts = range(0, len(tokens) - max_length, stride)
        self.input_ids = [torch.tensor(tokens[i : i + max_length]) for i in starts]
        self.target_ids = [torch.tensor(tokens[i + 1 : i + max_length + 1]) for i in starts]


class DataLoader:
    """As torch.utils.data.DataLoader; the order is drawn from the one generator that draws all."""

    def __init__(self, dataset, batch_size, shuffle, drop_last):
        self.dataset, self.batch_size, self.shuffle, self.drop_last = dataset, batch_size, shuffle, drop_last

    def __iter__(self):
        n = len(self.dataset.input_ids)
        order = torch.randperm(n).tolist() if self.shuffle else list(range(n))
        for i in range(0, n, self.batch_size):
            chosen = order[i : i + self.batch_size]
            if len(chosen) < self.batch_size and self.drop_last:
                return
            inputs, targets = self.dataset.input_ids, self.dataset.target_ids
            yield torch.stack([inputs[j] for j in chosen]), torch.stack([targets[j] for j in chosen])


def create_dataloader_v1(tokens, batch_size=4, max_length=256, stride=128, shuffle=True, drop_last=True):
    return DataLoader(GPTDatasetV1(tokens, max_length, stride), batch_size, shuffle, drop_last)


def simple_self_attention(x):
    scores = x @ x.T
    return torch.softmax(scores, dim=-1) @ x


class SelfAttention_v1(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))

    def forward(self, x):
        keys = x @ self.W_key
        queries = x @ self.W_query
        values = x @ self.W_value
        scores = queries @ keys.T
        weights = torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)
        return weights @ values


class SelfAttention_v2(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x):
        keys = self.W_key(x)
        queries = self.W_query(x)
        values = self.W_value(x)
        scores = queries @ keys.T
        weights = torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)
        return weights @ values


class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout=0.0, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.triu(torch.ones(context_length, context_length), diagonal=1))

    def forward(self, x):
        _, tokens, _ = x.shape
        keys = self.W_key(x)
        queries = self.W_query(x)
        values = self.W_value(x)
        scores = queries @ keys.transpose(1, 2)
        scores.masked_fill_(self.mask.bool()[:tokens, :tokens], -torch.inf)
        weights = torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)
        return self.dropout(weights) @ values


class MultiHeadAttentionWrapper(nn.Module):
    def __init__(self, d_in, d_out, num_heads, **options):
        super().__init__()
        self.heads = nn.ModuleList([CausalAttention(d_in, d_out, **options) for _ in range(num_heads)])

    def forward(self, x):
        return torch.cat([head(x) for head in self.heads], dim=-1)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, num_heads, dropout=0.0, qkv_bias=False):
        super().__init__()
        assert d_out % num_heads == 0
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.triu(torch.ones(context_length, context_length), diagonal=1))

    def forward(self, x):
        batch, tokens, _ = x.shape

        def heads(y):
            return y.view(batch, tokens, self.num_heads, -1).transpose(1, 2)

        keys = heads(self.W_key(x))
        queries = heads(self.W_query(x))
        values = heads(self.W_value(x))
        scores = queries @ keys.transpose(2, 3)
        scores.masked_fill_(self.mask.bool()[:tokens, :tokens], -torch.inf)
        weights = torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)
        context = (self.dropout(weights) @ values).transpose(1, 2)
        return self.out_proj(context.reshape(batch, tokens, -1))


class TransformerBlock(nn.Module):
    def __init__(self, config):
        super().__init__()
        dim = config["emb_dim"]
        self.att = MultiHeadAttention(
            dim,
            dim,
            context_length=config["context_length"],
            num_heads=config["n_heads"],
            dropout=config["drop_rate"],
            qkv_bias=config["qkv_bias"],
        )
        self.ff = FeedForward(dim)
        self.norm1 = LayerNorm(dim)
        self.norm2 = LayerNorm(dim)
        self.drop_shortcut = nn.Dropout(config["drop_rate"])

    def forward(self, x):
        x = x + self.drop_shortcut(self.att(self.norm1(x)))
        return x + self.drop_shortcut(self.ff(self.norm2(x)))


class GPTModel(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.tok_emb = nn.Embedding(config["vocab_size"], config["emb_dim"])
        self.pos_emb = nn.Embedding(config["context_length"], config["emb_dim"])
        self.drop_emb = nn.Dropout(config["drop_rate"])
        self.trf_blocks = nn.Sequential(*[TransformerBlock(config) for _ in range(config["n_layers"])])
        self.final_norm = LayerNorm(config["emb_dim"])
        self.out_head = nn.Linear(config["emb_dim"], config["vocab_size"], bias=False)

    def forward(self, in_idx):
        _, tokens = in_idx.shape
        x = self.tok_emb(in_idx) + self.pos_emb(torch.arange(tokens))
        x = self.trf_blocks(self.drop_emb(x))
        return self.out_head(self.final_norm(x))


def generate_text_simple(model, idx, max_new_tokens, context_size):
    for _ in range(max_new_tokens):
        with torch.no_grad():
            logits = model(idx[:, -context_size:])[:, -1, :]
        following = torch.argmax(torch.softmax(logits, dim=-1), dim=-1, keepdim=True)
        idx = torch.cat((idx, following), dim=1)
    return idx


def calc_loss_batch(inputs, targets, model):
    return functional.cross_entropy(model(inputs).flatten(0, 1), targets.flatten())


def calc_loss_loader(loader, model, num_batches):
    losses = []
    for inputs, targets in loader:
        if len(losses) == num_batches:
            break
        losses.append(calc_loss_batch(inputs, targets, model).item())
    return sum(losses) / len(losses)


def evaluate_model(model, train_loader, val_loader, eval_iter):
    model.eval()
    with torch.no_grad():
        losses = {
            "trainLoss": calc_loss_loader(train_loader, model, eval_iter),
            "valLoss": calc_loss_loader(val_loader, model, eval_iter),
        }
    model.train()
    return losses


def train_model_simple(model, train_loader, val_loader, optimizer, num_epochs, eval_freq, eval_iter):
    losses, evaluations = [], []
    for _ in range(num_epochs):
        for inputs, targets in train_loader:
            optimizer.zero_grad()
            loss = calc_loss_batch(inputs, targets, model)
            loss.backward()
            losses.append(loss.item())
            optimizer.step()
            if (len(losses) - 1) % eval_freq == 0:
                evaluations.append(evaluate_model(model, train_loader, val_loader, eval_iter))
    return losses, evaluations


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
    [(inputs, _), *_] = create_dataloader_v1(tokens, batch_size=2, max_length=4, stride=4, shuffle=False)
    torch.manual_seed(123)
    token_embedding = nn.Embedding(50257, 8)
    return {"embedded": pack(token_embedding(inputs) + nn.Embedding(4, 8)(torch.arange(4)))}


def chapter3():
    torch.manual_seed(123)
    inputs = torch.rand(6, 3)
    found = {
        "simpleSelfAttention": simple_self_attention(inputs),
        "SelfAttention_v1": SelfAttention_v1(3, 2)(inputs),
        "SelfAttention_v2": SelfAttention_v2(3, 2)(inputs),
    }
    batch = torch.stack([inputs, inputs])
    found["CausalAttention"] = CausalAttention(3, 2, 6)(batch)
    found["MultiHeadAttentionWrapper"] = MultiHeadAttentionWrapper(3, 1, 2, context_length=6)(batch)
    found["MultiHeadAttention"] = MultiHeadAttention(3, 2, 6, 2)(batch)
    return {name: pack(out) for name, out in found.items()}


def chapter4():
    torch.manual_seed(123)
    model = GPTModel(CONFIG).eval()
    idx = torch.tensor(encode("The time has come"))
    written = generate_text_simple(model, idx, 6, CONFIG["context_length"])
    return {"logits": pack(model(idx)[..., :8]), "written": written[0].tolist()}


def chapter5(text):
    border = math.floor(0.9 * len(text))
    train, val, start = encode(text[:border], text[border:], START)
    torch.manual_seed(123)
    model = GPTModel(CONFIG)
    weights = {
        name: hashlib.sha256(tensor.numpy().tobytes()).hexdigest() for name, tensor in model.state_dict().items()
    }
    train_loader = create_dataloader_v1(train, batch_size=2, max_length=32, stride=32)
    val_loader = create_dataloader_v1(val, 2, 32, 32, shuffle=False, drop_last=False)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3, weight_decay=0.1)
    losses, evaluations = train_model_simple(model, train_loader, val_loader, optimizer, 2, 10, 1)
    torch.manual_seed(123)
    model.eval()
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
