"""Writes conv1d.json: Conv1D, GPT-2's linear layer, and its gradients.

PyTorch computes x @ weight + bias in float64; autograd gives the gradients.

A case draws, after manual_seed(seed): the layer, x, dy, and for the odd sizes the bias. At GPT-2's size `out`
is the last row of the output and `dweight` row 7 of the weight's gradient.
"""

import torch

from common import Conv1D, gradients, pack


def cases():
    found = {"odd": [], "gpt2": [], "weights": []}
    for rows, nx, nf in (
        (1, 1, 1),
        (3, 17, 3),
        (17, 3, 65),
        (33, 65, 17),
        (65, 17, 3),
        (5, 65, 1),
        (7, 1, 65),
    ):
        torch.manual_seed(rows)
        layer, x, dy = Conv1D(nf, nx), torch.randn(rows, nx), torch.randn(rows, nf)
        torch.nn.init.normal_(layer.bias)
        found["odd"].append(
            {
                "seed": rows,
                "nx": nx,
                "nf": nf,
                "x": [rows, nx],
                "dy": [rows, nf],
                **gradients(layer, x, dy=dy),
            }
        )
    for rows in (1, 7):
        nx, nf = 768, 2304
        torch.manual_seed(rows)
        layer, x, dy = Conv1D(nf, nx), torch.randn(rows, nx), torch.randn(rows, nf)
        wide = x.double().requires_grad_()
        out = layer.double()(wide)
        out.backward(dy.double())
        found["gpt2"].append(
            {
                "seed": rows,
                "nx": nx,
                "nf": nf,
                "x": [rows, nx],
                "dy": [rows, nf],
                "out": pack(out[-1]),
                "dx": pack(wide.grad),
                "dweight": pack(layer.weight.grad[7]),
                "dbias": pack(layer.bias.grad),
            }
        )
    for nx, nf in ((3, 5), (17, 33)):
        torch.manual_seed(42)
        found["weights"].append({"nx": nx, "nf": nf, "weight": pack(Conv1D(nf, nx).weight)})
    return found
