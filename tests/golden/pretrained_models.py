"""GPTs as others write them, with the names of their tensors: what pretrained.py saves and back.py loads.

GPT2 has the names of Hugging Face's GPT-2 and of nanoGPT and minGPT; the former's matrices are [in, out], the
latter's [out, in]. `book` is the model of the book that the notebook belongs to. The `to_` functions give the
same weights other names and layouts: the book's, and those of minGPT before 2022.
"""

import torch
from torch import nn

from book import GPTModel as Book, attend
from common import Conv1D

IDS = [[3, 18, 0, 7], [1, 1, 4, 5]]
MATRICES = ("attn.c_attn.weight", "attn.c_proj.weight", "mlp.c_fc.weight", "mlp.c_proj.weight")


class Norm(nn.Module):
    """nn.LayerNorm whose bias may be None, as nanoGPT's."""

    def __init__(self, dim, bias, eps):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))
        self.bias = nn.Parameter(torch.zeros(dim)) if bias else None

    def forward(self, x):
        return nn.functional.layer_norm(x, self.weight.shape, self.weight, self.bias, self.eps)


class GPT2Attention(nn.Module):
    def __init__(self, dim, heads, linear, bias):
        super().__init__()
        self.heads = heads
        self.c_attn, self.c_proj = linear(dim, 3 * dim, bias), linear(dim, dim, bias)

    def forward(self, x):
        return self.c_proj(attend(*self.c_attn(x).chunk(3, dim=-1), self.heads))


class GPT2MLP(nn.Module):
    def __init__(self, dim, linear, bias, gelu):
        super().__init__()
        self.c_fc, self.gelu, self.c_proj = linear(dim, 4 * dim, bias), gelu, linear(4 * dim, dim, bias)

    def forward(self, x):
        return self.c_proj(self.gelu(self.c_fc(x)))


class GPT2Block(nn.Module):
    def __init__(self, dim, heads, linear, bias, gelu, eps):
        super().__init__()
        self.ln_1, self.attn = Norm(dim, bias, eps), GPT2Attention(dim, heads, linear, bias)
        self.ln_2, self.mlp = Norm(dim, bias, eps), GPT2MLP(dim, linear, bias, gelu)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT2(nn.Module):
    """conv: the matrices are [in, out], as Hugging Face's; otherwise [out, in], as nanoGPT's and minGPT's."""

    def __init__(self, vocab, context, dim, heads, layers, *, conv, bias=True, gelu=None, eps=1e-5):
        super().__init__()

        def linear(nx, nf, bias):
            return Conv1D(nf, nx, bias) if conv else nn.Linear(nx, nf, bias)

        self.transformer = nn.ModuleDict(
            {
                "wte": nn.Embedding(vocab, dim),
                "wpe": nn.Embedding(context, dim),
                "h": nn.ModuleList(
                    GPT2Block(dim, heads, linear, bias, gelu or nn.GELU(approximate="tanh"), eps) for _ in range(layers)
                ),
                "ln_f": Norm(dim, bias, eps),
            }
        )
        self.lm_head = nn.Linear(dim, vocab, bias=False)

    def forward(self, ids):
        x = self.transformer.wte(ids) + self.transformer.wpe(torch.arange(ids.shape[1]))
        for block in self.transformer.h:
            x = block(x)
        return self.lm_head(self.transformer.ln_f(x))


def book(vocab, context, dim, heads, layers, *, qkv_bias):
    sizes = {"vocab_size": vocab, "context_length": context, "emb_dim": dim, "n_heads": heads, "n_layers": layers}
    return Book({**sizes, "qkv_bias": qkv_bias})


def to_linear(state):
    """Hugging Face's names and layout -> nanoGPT's layout."""
    return {name: t.t().contiguous() if name.endswith(MATRICES) else t for name, t in state.items()}


def to_book(state, context, *, fused=False):
    """Hugging Face's names and layout -> the book's, with its masks."""
    rows = (
        ("transformer.", ""),
        ("wte", "tok_emb"),
        ("wpe", "pos_emb"),
        ("h.", "trf_blocks."),
        ("ln_f.weight", "final_norm.scale"),
        ("ln_f.bias", "final_norm.shift"),
        ("ln_1.weight", "norm1.scale"),
        ("ln_1.bias", "norm1.shift"),
        ("ln_2.weight", "norm2.scale"),
        ("ln_2.bias", "norm2.shift"),
        ("mlp.c_fc", "ff.layers.0"),
        ("mlp.c_proj", "ff.layers.2"),
        ("attn.c_attn", "att.qkv"),
        ("attn.c_proj", "att.proj" if fused else "att.out_proj"),
        ("lm_head", "out_head"),
    )
    book = {}
    for name, tensor in to_linear(state).items():
        for theirs, books in rows:
            name = name.replace(theirs, books)
        if ".att.qkv." in name and not fused:
            for part, values in zip(("W_query", "W_key", "W_value"), tensor.chunk(3)):
                book[name.replace("qkv", part)] = values.clone()
        else:
            book[name] = tensor
        if name.endswith("norm1.scale"):
            book[name.replace("norm1.scale", "att.mask")] = torch.ones(context, context).triu(1)
    return book


def to_min_gpt(state, context):
    """Hugging Face's names and layout -> those of minGPT before 2022, with its masks."""
    rows = (
        ("transformer.", ""),
        ("wte", "tok_emb"),
        ("wpe.weight", "pos_emb"),
        ("h.", "blocks."),
        ("ln_1", "ln1"),
        ("ln_2", "ln2"),
        ("mlp.c_fc", "mlp.0"),
        ("mlp.c_proj", "mlp.2"),
        ("attn.c_proj", "attn.proj"),
        ("lm_head", "head"),
    )
    mingpt = {}
    for name, tensor in to_linear(state).items():
        for theirs, other in rows:
            name = name.replace(theirs, other)
        if ".c_attn." in name:
            for part, values in zip(("query", "key", "value"), tensor.chunk(3)):
                mingpt[name.replace("c_attn", part)] = values.clone()
        else:
            mingpt[name] = tensor[None] if name == "pos_emb" else tensor
        if name.endswith("ln1.weight"):
            mask = torch.ones(context, context).tril().view(1, 1, context, context)
            mingpt[name.replace("ln1.weight", "attn.mask")] = mask
    return mingpt


@torch.no_grad()
def logits(model, state):
    """In float64, of the weights in `state`, which has to have all names and no others."""
    model.double().load_state_dict({name: tensor.double() for name, tensor in state.items()})
    return model(torch.tensor(IDS))
