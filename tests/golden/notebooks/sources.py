# %%
import math

import torch
from torch import nn

# %%
row = torch.tensor([1.1, 0.8, 2.3, 4.4])
mean = row.mean()
variance = row.var(unbiased=False)
normalized = (row - mean) / variance.sqrt()
print("Mean:", mean)
print("Variance:", variance)
print("Normalized:", normalized)

# %%
torch.manual_seed(123)
x = torch.rand(5, 10, 3)
norm = nn.LayerNorm(x.shape[-1], eps=1e-6)
result = norm(x)
means = result.mean(-1)
print(*result.shape)
print(result[0])
print("Variance:", result.var(-1, unbiased=False)[0])
print("Means farther from 0 than 1e-5:", (means.abs() > 1e-5).sum().item())


# %%
class Conv1D(nn.Module):
    def __init__(self, nf, nx):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(nx, nf).normal_(std=0.02))
        self.bias = nn.Parameter(torch.zeros(nf))

    def forward(self, x):
        return x @ self.weight + self.bias


torch.manual_seed(123)
conv = Conv1D(6, 4)
print(conv(torch.ones(2, 4)))


# %%
class FeedForward(nn.Module):
    def __init__(self, d_model=768, nx=None, dropout=0.1):
        super().__init__()
        nx = nx or 4 * d_model
        self.c_fc = Conv1D(nx, d_model)
        self.c_proj = Conv1D(d_model, nx)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        hidden = nn.functional.gelu(self.c_fc(x))
        return self.dropout(self.c_proj(hidden))


torch.manual_seed(123)
feed_forward = FeedForward().eval()
wide = feed_forward(torch.randn(2, 4, 768))
print(*wide.shape)
print(wide)


# %%
class Attention(nn.Module):
    def __init__(self, d_model=768, n_head=12, n_ctx=1024):
        super().__init__()
        self.n_head = n_head
        self.d_model = d_model
        self.c_attn = Conv1D(3 * d_model, d_model)
        self.c_proj = Conv1D(d_model, d_model)
        self.register_buffer("mask", torch.ones(n_ctx, n_ctx).tril())

    # [batch, tokens, features] to [batch, head, tokens, features of a head]
    def split_heads(self, x):
        batch, tokens, _ = x.shape
        return x.view(batch, tokens, self.n_head, -1).permute(0, 2, 1, 3)

    def merge_heads(self, x):
        batch, _, tokens, _ = x.shape
        return x.permute(0, 2, 1, 3).reshape(batch, tokens, self.d_model)

    def weights(self, q, k):
        tokens = q.shape[-2]
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        hidden = self.mask[:tokens, :tokens] == 0
        return scores.masked_fill(hidden, -math.inf).softmax(-1)

    def forward(self, x):
        parts = self.c_attn(x).split(self.d_model, dim=-1)
        q, k, v = (self.split_heads(part) for part in parts)
        return self.c_proj(self.merge_heads(self.weights(q, k) @ v))


torch.manual_seed(123)
attention = Attention()
sequence = torch.randn(1, 5, 768)
print(attention)
print(attention(sequence))

# %%
q, k, _ = attention.c_attn(sequence).split(768, dim=-1)
weights = attention.weights(attention.split_heads(q), attention.split_heads(k))[0, 0]
print(weights)
