# %%
import math

import torch
from torch import nn

config = {"vocab_size": 27, "context_length": 16, "emb_dim": 32, "n_heads": 4, "n_layers": 2}


# %%
class LayerNorm(nn.Module):
    def __init__(self, emb_dim):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(emb_dim))
        self.shift = nn.Parameter(torch.zeros(emb_dim))

    def forward(self, x):
        centered = x - x.mean(-1, keepdim=True)
        variance = x.var(-1, keepdim=True, unbiased=False)
        return centered / (variance + 1e-5).sqrt() * self.scale + self.shift


def feed_forward(emb_dim):
    gelu = nn.GELU(approximate="tanh")
    return nn.Sequential(nn.Linear(emb_dim, 4 * emb_dim), gelu, nn.Linear(4 * emb_dim, emb_dim))


# %%
class Attention(nn.Module):
    def __init__(self, emb_dim, n_heads, context_length):
        super().__init__()
        self.n_heads = n_heads
        self.qkv = nn.Linear(emb_dim, 3 * emb_dim)
        self.out = nn.Linear(emb_dim, emb_dim)
        self.register_buffer("future", torch.ones(context_length, context_length).triu(1) == 1)

    def forward(self, x):
        batch, tokens, emb_dim = x.shape

        def split(y):
            return y.view(batch, tokens, self.n_heads, -1).transpose(1, 2)

        q, k, v = map(split, self.qkv(x).chunk(3, dim=-1))
        scores = q @ k.transpose(2, 3) / math.sqrt(emb_dim / self.n_heads)
        weights = scores.masked_fill(self.future[:tokens, :tokens], -math.inf).softmax(-1)
        return self.out((weights @ v).transpose(1, 2).reshape(x.shape))


# %%
class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        emb_dim = config["emb_dim"]
        self.norm1 = LayerNorm(emb_dim)
        self.attn = Attention(emb_dim, config["n_heads"], config["context_length"])
        self.norm2 = LayerNorm(emb_dim)
        self.ff = feed_forward(emb_dim)

    def forward(self, x):
        h = x + self.attn(self.norm1(x))
        return h + self.ff(self.norm2(h))


# %%
class GPT(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.tok_emb = nn.Embedding(config["vocab_size"], config["emb_dim"])
        self.pos_emb = nn.Embedding(config["context_length"], config["emb_dim"])
        self.blocks = nn.Sequential(*(Block(config) for _ in range(config["n_layers"])))
        self.final_norm = LayerNorm(config["emb_dim"])
        self.head = nn.Linear(config["emb_dim"], config["vocab_size"], bias=False)

    def forward(self, ids):
        x = self.tok_emb(ids) + self.pos_emb(torch.arange(ids.shape[1]))
        return self.head(self.final_norm(self.blocks(x)))


torch.manual_seed(123)
model = GPT(config)
print(model)
print(sum(one.numel() for one in model.parameters()), "parameters")

# %%
letters = " abcdefghijklmnopqrstuvwxyz"


def encode(text):
    return torch.tensor([[letters.index(letter) for letter in text]])


ids = encode("layer norm")
logits = model(ids)
print(*logits.shape)
print("After the last letter:", logits[0, -1])

# %%
targets = encode("ayer norm ")[0]
loss = nn.functional.cross_entropy(logits[0], targets)
print("Loss:", loss)

# %%
model.zero_grad()
loss.backward()
print("Gradient of the last scale:\n", model.final_norm.scale.grad)
norm = nn.utils.clip_grad_norm_(model.parameters(), 1)
print("Norm of all gradients:", f"{norm:.4f}")
