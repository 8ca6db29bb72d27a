# %%
import math
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional

text = Path("train.mjs").read_text().split("`")[1]
letters = sorted(set(text))
ids = torch.tensor([letters.index(letter) for letter in text])
print(len(text), "characters,", len(letters), "of them different")


# %%
class Conv1D(nn.Module):
    def __init__(self, nf, nx):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(nx, nf).normal_(std=0.02))
        self.bias = nn.Parameter(torch.zeros(nf))

    def forward(self, x):
        return x @ self.weight + self.bias


class Block(nn.Module):
    def __init__(self, emb_dim, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.c_attn, self.c_proj = Conv1D(3 * emb_dim, emb_dim), Conv1D(emb_dim, emb_dim)
        self.ff = nn.Sequential(
            nn.Linear(emb_dim, 4 * emb_dim),
            nn.GELU(approximate="tanh"),
            nn.Linear(4 * emb_dim, emb_dim),
        )
        self.norm1, self.norm2 = nn.LayerNorm(emb_dim), nn.LayerNorm(emb_dim)

    def attend(self, x):
        batch, tokens, emb_dim = x.shape
        split = (batch, tokens, self.n_heads, emb_dim // self.n_heads)
        q, k, v = (y.view(split).transpose(1, 2) for y in self.c_attn(x).chunk(3, dim=-1))
        future = torch.ones(tokens, tokens).triu(1) == 1
        scores = (q @ k.transpose(2, 3) / math.sqrt(split[-1])).masked_fill(future, -math.inf)
        return self.c_proj((scores.softmax(-1) @ v).transpose(1, 2).reshape(x.shape))

    def forward(self, x):
        x = x + self.attend(self.norm1(x))
        return x + self.ff(self.norm2(x))


class GPTModel(nn.Module):
    def __init__(self, vocab_size, context_length, emb_dim, n_heads, n_layers):
        super().__init__()
        self.tok_emb = nn.Embedding(vocab_size, emb_dim)
        self.pos_emb = nn.Embedding(context_length, emb_dim)
        self.trf_blocks = nn.Sequential(*(Block(emb_dim, n_heads) for _ in range(n_layers)))
        self.final_norm = nn.LayerNorm(emb_dim)
        self.out_head = nn.Linear(emb_dim, vocab_size, bias=False)

    def forward(self, ids):
        x = self.tok_emb(ids) + self.pos_emb(torch.arange(ids.shape[1]))
        return self.out_head(self.final_norm(self.trf_blocks(x)))


torch.manual_seed(123)
context_length = 32
model = GPTModel(len(letters), context_length, emb_dim=64, n_heads=4, n_layers=2)
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
losses = []
print(sum(one.numel() for one in model.parameters()), "parameters")


# %%
def write(start, max_new_tokens):
    written = [letters.index(letter) for letter in start]
    for _ in range(max_new_tokens):
        logits = model(torch.tensor([written[-context_length:]]))[0, -1]
        written.append(logits.argmax().item())
    return "".join(letters[one] for one in written)


def step():
    starts = torch.randint(0, len(ids) - context_length, (16,))
    pieces = [ids[start : start + context_length + 1] for start in starts]
    x, y = torch.stack(pieces)[:, :-1], torch.stack(pieces)[:, 1:]
    optimizer.zero_grad()
    loss = functional.cross_entropy(model(x).flatten(0, 1), y.flatten())
    loss.backward()
    optimizer.step()
    return loss.item()


for _ in range(500):
    losses.append(step())
    if len(losses) % 50 == 0:
        print("Step", len(losses), "loss", f"{losses[-1]:.1f}")
        print(write("There was", 22))

# %%
print(write('"How', 27))
