# %%
import math

import torch
from torch import nn

torch.manual_seed(123)
words = ["your", "journey", "starts", "with", "one", "step"]
inputs = torch.rand(len(words), 3)
print(inputs)

# %%
scores = inputs @ inputs.T
weights = scores.softmax(-1)
print(weights)
print("Sum of each row:", weights.sum(-1))

# %%
print("Token 2:", weights[1] @ inputs)
print(weights @ inputs)


# %%
class SelfAttention(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.w_query = nn.Linear(d_in, d_out, bias=False)
        self.w_key = nn.Linear(d_in, d_out, bias=False)
        self.w_value = nn.Linear(d_in, d_out, bias=False)

    def forward(self, x):
        queries, keys, values = self.w_query(x), self.w_key(x), self.w_value(x)
        scores = queries @ keys.transpose(-2, -1) / math.sqrt(keys.shape[-1])
        return scores.softmax(-1) @ values


torch.manual_seed(789)
attention = SelfAttention(3, 2)
print(attention)
print(attention(inputs))

# %%
queries, keys = attention.w_query(inputs), attention.w_key(inputs)
future = torch.ones(6, 6).triu(1)
masked = (queries @ keys.T).masked_fill(future == 1, -math.inf)
causal = (masked / math.sqrt(2)).softmax(-1)
print(causal)


# %%
class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.w_query = nn.Linear(d_in, d_out, bias=False)
        self.w_key = nn.Linear(d_in, d_out, bias=False)
        self.w_value = nn.Linear(d_in, d_out, bias=False)
        self.out_proj = nn.Linear(d_out, d_out)
        future = torch.ones(context_length, context_length).triu(1)
        self.register_buffer("mask", future == 1)

    def forward(self, x):
        batch, tokens, _ = x.shape

        # [batch, tokens, d_out] to [batch, heads, tokens, size of a head]
        def split(y):
            return y.view(batch, tokens, self.num_heads, -1).transpose(1, 2)

        queries, keys, values = split(self.w_query(x)), split(self.w_key(x)), split(self.w_value(x))
        scores = (queries @ keys.transpose(2, 3)).masked_fill(self.mask[:tokens, :tokens], -math.inf)
        weights = (scores / math.sqrt(keys.shape[-1])).softmax(-1)
        context = (weights @ values).transpose(1, 2).reshape(batch, tokens, -1)
        return self.out_proj(context)


torch.manual_seed(123)
heads = MultiHeadAttention(3, 4, context_length=6, num_heads=2)
batch = torch.stack([inputs, inputs])
print(heads(batch))

# %%
parts = [layer(batch) for layer in (heads.w_query, heads.w_key, heads.w_value)]
q, k, v = (part.view(2, 6, 2, 2).transpose(1, 2) for part in parts)
scores = q @ k.transpose(2, 3) / math.sqrt(2)
context = scores.masked_fill(heads.mask, -math.inf).softmax(-1) @ v
print(heads.out_proj(context.transpose(1, 2).reshape(2, 6, 4))[0])
