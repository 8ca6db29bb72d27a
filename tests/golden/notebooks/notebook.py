# %%
import torch
from torch import nn

torch.manual_seed(123)
batch = torch.randn(2, 5)
layer = nn.Sequential(nn.Linear(5, 6), nn.ReLU())
out = layer(batch)
print(out)

# %%
mean = out.mean(dim=-1, keepdim=True)
variance = out.var(dim=-1, keepdim=True)
print("Mean:", mean)
print("Variance:", variance)

# %%
normalized = (out - mean) / variance.sqrt()
mean = normalized.mean(dim=-1, keepdim=True)
variance = normalized.var(dim=-1, keepdim=True)
print("Normalized:\n", normalized)
print("Mean:", mean)
print("Variance:", variance)

# %%
torch.set_printoptions(sci_mode=False)
print("Mean:", mean)


# %%
class LayerNorm(nn.Module):
    def __init__(self, emb_dim):
        super().__init__()
        self.eps = 1e-5
        self.scale = nn.Parameter(torch.ones(emb_dim))
        self.shift = nn.Parameter(torch.zeros(emb_dim))

    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        variance = x.var(-1, keepdim=True, unbiased=False)
        norm = (x - mean) / (variance + self.eps).sqrt()
        return self.scale * norm + self.shift


ln = LayerNorm(5)
out_ln = ln(batch)
print(out_ln)
print("Mean:", out_ln.mean(-1, keepdim=True))
print("Variance:", out_ln.var(-1, keepdim=True, unbiased=False))


# %%
class GELU(nn.Module):
    def forward(self, x):
        inner = (x + 0.044715 * x**3) * (2 / torch.pi) ** 0.5
        return 0.5 * x * (1 + inner.tanh())


x = torch.arange(-3, 3.5, 0.5)
print("ReLU:", x.relu())
print("GELU:", GELU()(x))


# %%
class FeedForward(nn.Module):
    def __init__(self, config):
        super().__init__()
        emb_dim = config["emb_dim"]
        self.layers = nn.Sequential(
            nn.Linear(emb_dim, 4 * emb_dim),
            GELU(),
            nn.Linear(4 * emb_dim, emb_dim),
        )

    def forward(self, x):
        return self.layers(x)


feed_forward = FeedForward({"emb_dim": 768})
tokens = torch.rand(2, 3, 768)
wide = feed_forward(tokens)
print(feed_forward)
print(*wide.shape)
print(wide)
