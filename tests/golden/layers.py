"""Writes layers.json: every layer and GPT-2's model with their gradients, and GELU of numbers of all sizes.

PyTorch computes in float64; autograd gives the gradients. A new layer is a line of MAKE, where PyTorch has no
module with our names, and some lines of `calls`.

A case draws, after manual_seed(1): the layer; in the order of named_parameters every bias, scale and shift
anew; x; dy, in the shape of the output. x is multiplied by the deviation, then the mean is added. Attention's
matrices are multiplied by `times`: with the initial N(0, 0.02) all tokens would weigh nearly the same. Of a
tensor of more than 500 elements the first and the last row are kept.
"""

import math
import re

import torch
from torch import nn
from torch.nn import functional as F

from common import Conv1D, FeedForward, in_float64, pack


class Norm(nn.Module):
    """A layer of a scale and a shift, by our names."""

    def __init__(self, shape, shift=True):
        super().__init__()
        self.shape, self.eps = [shape] if isinstance(shape, int) else shape, 1e-5
        self.scale = nn.Parameter(torch.ones(self.shape))
        self.shift = nn.Parameter(torch.zeros(self.shape)) if shift else None


class LayerNorm(Norm):
    def forward(self, x):
        return F.layer_norm(x, self.shape, self.scale, self.shift, self.eps)


class RMSNorm(Norm):
    """Zhang, Sennrich 2019, eq. 4, written out: PyTorch 1.13 has none."""

    def __init__(self, shape):
        super().__init__(shape, shift=False)

    def forward(self, x):
        axes = tuple(range(-len(self.shape), 0))
        return self.scale * (x / torch.sqrt(x.pow(2).mean(axes, keepdim=True) + self.eps))


class BatchNorm(Norm):
    """nn.BatchNorm1d over all leading axes."""

    def __init__(self, size):
        super().__init__(size)
        self.register_buffer("running_mean", torch.zeros(size))
        self.register_buffer("running_var", torch.ones(size))

    def forward(self, x):
        rows = x.reshape(-1, x.shape[-1])
        statistics = self.running_mean, self.running_var, self.scale, self.shift
        return F.batch_norm(rows, *statistics, training=self.training).reshape(x.shape)


class Attention(nn.Module):
    def __init__(self, dim, heads, qkv_bias=True):
        super().__init__()
        self.n_heads = heads
        self.c_attn, self.c_proj = Conv1D(3 * dim, dim, bias=qkv_bias), Conv1D(dim, dim)

    def forward(self, x):
        batch, tokens, dim = x.shape
        q, k, v = (
            t.view(batch, tokens, self.n_heads, -1).transpose(1, 2) for t in self.c_attn(x).split(dim, dim=2)
        )
        scores = q @ k.transpose(-2, -1) / math.sqrt(dim // self.n_heads)
        future = torch.ones(tokens, tokens, dtype=torch.bool).triu(1)
        self.weights = scores.masked_fill(future, -math.inf).softmax(dim=-1)
        return self.c_proj((self.weights @ v).transpose(1, 2).reshape(batch, tokens, dim))


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


def model(config):
    names = ("vocabSize", "contextLength", "embDim", "nHeads", "nLayers", "qkvBias", "tieWeights")
    return GPTModel(*(config[name] for name in names))


# By our names: the module of the arguments that our constructor takes.
MAKE = {
    "Linear": nn.Linear,
    "Conv1D": Conv1D,
    "Embedding": nn.Embedding,
    "ReLU": nn.ReLU,
    "SiLU": nn.SiLU,
    "Sigmoid": nn.Sigmoid,
    "GELU": lambda options: nn.GELU(**options),
    "Softmax": lambda options: nn.Softmax(**options),
    "LayerNorm": LayerNorm,
    "RMSNorm": RMSNorm,
    "BatchNorm": BatchNorm,
    "FeedForward": lambda given: FeedForward(
        given["embDim"], given.get("hiddenDim"), given.get("approximate", "tanh")
    ),
    "Attention": lambda given: Attention(given["embDim"], given["nHeads"], given["qkvBias"]),
    "TransformerBlock": lambda given: TransformerBlock(given["embDim"], given["nHeads"], given["qkvBias"]),
    "GPTModel": model,
}


def kept(tensor):
    """Of a large tensor its first and last row."""
    return pack(tensor if tensor.numel() <= 500 else tensor.reshape(-1, tensor.shape[-1])[[0, -1]])


def shake(module, times=16.0):
    for name, parameter in module.named_parameters():
        if re.search(r"(bias|scale|shift)$", name):
            parameter.data = torch.randn(parameter.shape)
        elif re.search(r"c_(attn|proj)\.weight$", name):
            parameter.data *= times
    return module


def case(layer, args, shape=None, mean=0.0, deviation=1.0, ids=None, times=16.0, identities=(), drawn=False):
    torch.manual_seed(1)
    module = shake(MAKE[layer](*args), times)
    for path in identities:
        parent, _, name = path.rpartition(".")
        setattr(module.get_submodule(parent), name, nn.Identity())
    found = {"layer": layer, "args": args, "times": times, "identities": identities}
    if drawn:
        found["parameters"] = {name: pack(p) for name, p in module.named_parameters()}
    if ids is None:
        x = torch.randn(shape) * deviation + mean
        found |= {"shape": shape, "mean": mean, "deviation": deviation}
        x = x.double().requires_grad_()
    else:
        x = torch.tensor(ids, dtype=torch.long)
        found["ids"] = ids
    out = module.double()(x)
    out.backward(torch.randn(out.shape).double())
    found |= {"out": kept(out), "dx": None if x.grad is None else kept(x.grad)}
    found["grads"] = {name: kept(p.grad) for name, p in module.named_parameters()}
    if layer == "Attention" and module.weights.numel() <= 500:
        found["weights"] = pack(module.weights)
    if layer == "BatchNorm":
        module.float()
        found["buffers"] = {name: pack(buffer) for name, buffer in module.named_buffers()}
        following = torch.randn(shape)
        module.eval()
        found["evaluated"] = pack(in_float64(module, following))
    return found


def calls():
    small = ([1], [3], [17], [2, 33], [2, 3, 65])
    products = ((1, 1, 1), (3, 17, 3), (17, 3, 65), (33, 65, 17), (65, 17, 33), (5, 65, 1), (7, 1, 65))
    for rows, i, o in products + ((7, 768, 3072), (1, 3072, 768)):
        yield case("Linear", [i, o], [rows, i], drawn=i == 17)
    for rows, i, o in products + ((7, 768, 2304), (1, 768, 2304)):
        yield case("Conv1D", [o, i], [rows, i], drawn=i == 17)
    for count, size, ids in (
        *((1, 1, [0, 0, 0]), (3, 17, [[2, 0, 1, 1, 2], [0, 0, 2, 1, 0]]), (17, 3, [i * i % 17 for i in range(33)])),
        *((33, 65, [[[5, 32, 0, 7, 7, 31, 5]]] * 2), (5, 768, [4, 0, 1]), (2, 3, 1), (4, 5, [])),
    ):
        yield case("Embedding", [count, size], ids=ids, drawn=True)
    for shape in small:
        for layer in ("ReLU", "SiLU", "Sigmoid"):
            yield case(layer, [], shape)
        for approximate in ("tanh", "none"):
            yield case("GELU", [{"approximate": approximate}], shape, deviation=3.0)
    for shape in ([], *small, [2, 768]):
        for deviation in (1.0, 4.0):  # for larger ones y rounds to 1, and float32 loses the gradient
            yield case("Softmax", [{"dim": -1}], shape, deviation=deviation)
    for shape, dims in (([], [0]), ([17, 3], [0, -2]), ([2, 33, 3], [0, 1, -2]), ([2, 3, 4, 5], [1, -2, 3])):
        for dim in dims:
            yield case("Softmax", [{"dim": dim}], shape)
    for shape in ([2, 3, 3], [70, 17], [5, 33], [4, 65], [2, 768]):
        yield case("LayerNorm", [shape[-1]], shape)
    for n in (17, 768):  # far from 0, or with squares that overflow in float32
        for mean, deviation in ((1e4, 0.1), (-1e4, 0.1), (0.0, 1e20), (1e25, 1e20), (0.0, 5e37), (0.0, 1e-3)):
            yield case("LayerNorm", [n], [2, n], mean, deviation)
    for shape, axes in (([5], [5]), ([4, 3, 5], [3, 5]), ([2, 3, 4, 5], [3, 4, 5]), ([3, 5], [3, 5])):
        for layer in ("LayerNorm", "RMSNorm"):  # over several axes
            yield case(layer, [axes], shape)
    for n in (1, 3, 17, 33, 65, 768):
        # For n = 1 and x² far above eps, y = ±scale and dx is only rounding error: compare small x only.
        for deviation in (1e-3,) if n == 1 else (1.0, 1e-3, 1e4, 1e20, 5e37):
            yield case("RMSNorm", [n], [2, 2, n] if n < 768 else [2, n], deviation=deviation)
    for n, leading, mean, deviation in (
        *((1, [3], 0.0, 1.0), (3, [17], 0.0, 1.0), (17, [33], 0.0, 1.0), (33, [2, 1, 3], 0.0, 1.0)),
        *((65, [5], 0.0, 1.0), (768, [3], 0.0, 1.0), (5, [65], 1e4, 0.1), (17, [33], -1e4, 0.1)),
        *((3, [4, 5], 0.0, 1e-3), (6, [9], 0.0, 1e21), (7, [9], 1e25, 1e21), (9, [33], 0.0, 5e37)),
    ):
        yield case("BatchNorm", [n], leading + [n], mean, deviation)
    for rows, dim, hidden in ((1, 1, 4), (3, 17, 3), (17, 3, 65), (33, 33, 17), (65, 17, 9), (7, 33, 1)):
        for name in ("tanh", "none"):
            yield case("FeedForward", [{"embDim": dim, "hiddenDim": hidden, "approximate": name}], [rows, dim])
    yield case("FeedForward", [{"embDim": 768}], [7, 768])
    for batch, tokens, heads, size, bias in (
        *((1, 1, 1, 1, True), (2, 3, 3, 1, True), (1, 17, 1, 5, True), (2, 17, 3, 5, False), (2, 33, 4, 1, True)),
        *((1, 33, 1, 16, True), (1, 65, 3, 5, True), (1, 65, 1, 3, True), (2, 3, 3, 64, True)),
        *((1, 65, 4, 16, True), (1, 5, 12, 64, True), (1, 33, 1, 64, True)),
    ):
        given = {"embDim": heads * size, "nHeads": heads, "contextLength": tokens, "qkvBias": bias}
        times = 2.0 ** round(math.log2(50 / math.sqrt(heads * size)))
        yield case("Attention", [given], [batch, tokens, heads * size], times=times, drawn=heads == 3 and size == 1)
    for batch, tokens, heads, size, bias in ((2, 3, 3, 1, True), (1, 17, 1, 3, False), (2, 5, 3, 5, True)):
        given = {"embDim": heads * size, "nHeads": heads, "contextLength": 17, "qkvBias": bias}
        yield case("TransformerBlock", [given], [batch, tokens, heads * size])
    for batch, tokens, heads, size, layers, bias, tied in (
        *((2, 7, 2, 3, 2, True, False), (2, 7, 2, 3, 2, False, False), (1, 11, 2, 3, 1, True, True)),
        *((3, 1, 1, 3, 2, False, True), (2, 11, 3, 5, 1, True, True)),
    ):
        yield case("GPTModel", [config(heads, size, layers, bias, tied)], ids=some_ids(batch, tokens), drawn=layers == 2)
    for norms in (
        ["trf_blocks.0.norm1"],
        ["trf_blocks.1.norm2", "final_norm"],
        [f"trf_blocks.{b}.norm{n}" for b in range(2) for n in (1, 2)] + ["final_norm"],
    ):
        yield case("GPTModel", [config(2, 3, 2, True, False)], ids=[[1, 5, 16, 0, 3]], identities=norms)


VOCAB, CONTEXT = 17, 11


def config(heads, size, layers, qkv_bias, tied):
    return {
        **{"vocabSize": VOCAB, "contextLength": CONTEXT, "embDim": heads * size, "nHeads": heads},
        **{"nLayers": layers, "qkvBias": qkv_bias, "tieWeights": tied},
    }


def some_ids(batch, tokens, first=1):
    return (torch.arange(batch * tokens) * 5 + first).remainder(VOCAB).reshape(batch, tokens).tolist()


def wide():
    """GELU in float64, from -1e38 to 1e38."""
    x = torch.cat([torch.linspace(-12, 12, 500), torch.logspace(-40, 38, 79), -torch.logspace(-40, 38, 79)])
    return {"x": pack(x), **{form: pack(F.gelu(x.double(), approximate=form)) for form in ("tanh", "none")}}


def cases():
    return {"cases": list(calls()), "wide": wide()}
