"""Writes optim.json: ten steps of SGD, Adam and AdamW, also with parameter groups, gradient clipping, and
learning rates by LambdaLR.

torch.optim's optimizers compute in float64, nn.utils.clip_grad_norm_ in float32.

A run draws, after manual_seed(3): two parameters, then each step's gradients. From step 5 on lr is halved.
The second parameter has no gradient in steps 0 and 7. With groups, each parameter is a group of its own.
"""

import math

import torch
from torch import nn, optim

from common import pack

SETTINGS = [
    ("SGD", {"lr": 0.1}),
    ("SGD", {"lr": 0.1, "weight_decay": 0.1}),
    ("SGD", {"lr": 0.1, "momentum": 0.9}),
    ("SGD", {"lr": 0.1, "momentum": 0.8, "dampening": 0.5, "weight_decay": 0.01}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
    ("Adam", {}),
    ("Adam", {"lr": 0.1, "betas": (0.8, 0.99), "eps": 1e-6, "weight_decay": 0.1}),
    ("AdamW", {}),
    ("AdamW", {"lr": 0.1, "betas": (0.8, 0.99), "eps": 1e-6, "weight_decay": 0.1}),
    ("AdamW", {"lr": 0.1, "betas": (0.0, 0.5), "weight_decay": 0.0}),
    ("SGD", {"lr": 0.1}, [{"momentum": 0.9, "weight_decay": 0.1}, {"lr": 0.3}]),
    ("Adam", {"lr": 0.1}, [{"weight_decay": 0.5}, {"lr": 0.01, "betas": (0.5, 0.9)}]),
    ("AdamW", {"lr": 0.1}, [{"weight_decay": 0.5}, {"weight_decay": 0.0, "lr": 0.02}]),
]


def run(name, options, groups=None):
    torch.manual_seed(3)
    parameters = [nn.Parameter(torch.randn(3, 7).double()), nn.Parameter(torch.randn(5).double())]
    given = [{"params": [p], **group} for p, group in zip(parameters, groups)] if groups else parameters
    optimizer = getattr(optim, name)(given, **options)
    after = []
    for step in range(10):
        gradients = [torch.randn(3, 7).double(), torch.randn(5).double()]
        if step == 5:
            for group in optimizer.param_groups:
                group["lr"] /= 2
        for i, (parameter, gradient) in enumerate(zip(parameters, gradients)):
            parameter.grad = None if i == 1 and step in (0, 7) else gradient
        optimizer.step()
        after.append([pack(parameter) for parameter in parameters])
    state = optimizer.state_dict()["state"]
    return {
        "name": name,
        "options": options,
        "groups": groups,
        "after": after,
        "state": {
            f"state.{i}.{key}": pack(torch.as_tensor(value).double())
            for i, slots in state.items()
            for key, value in slots.items()
            if value is not None
        },
    }


def clip(max_norm, scale=1.0):
    torch.manual_seed(3)
    parameters = [nn.Parameter(torch.zeros(3, 7)), nn.Parameter(torch.zeros(2)), nn.Parameter(torch.zeros(5))]
    parameters[0].grad, parameters[2].grad = torch.randn(3, 7) * scale, torch.randn(5) * scale
    norm = nn.utils.clip_grad_norm_(parameters, max_norm)
    return {
        "maxNorm": max_norm,
        "scale": scale,
        "norm": norm.item(),
        "grads": [pack(parameters[0].grad), pack(parameters[2].grad)],
    }


def cosine(steps, warmup=0, min=0.0):
    """nanoGPT's get_lr, as a factor."""

    def factor(i):
        if i < warmup:
            return (i + 1) / (warmup + 1)
        if i > steps:
            return min
        return min + 0.5 * (1.0 + math.cos(math.pi * (i - warmup) / (steps - warmup))) * (1 - min)

    return factor


def schedule(**options):
    """The rates of two groups, of epochs 0 to 11, then of epoch 3 and the next."""
    parameters = [nn.Parameter(torch.zeros(1)) for _ in range(2)]
    groups = [{"params": parameters[:1]}, {"params": parameters[1:], "lr": 0.1}]
    optimizer = optim.SGD(groups, lr=0.3)
    scheduler = optim.lr_scheduler.LambdaLR(optimizer, cosine(**options))
    rates = [scheduler.get_last_lr()]
    for epoch in [*[None] * 11, 3, None]:
        optimizer.step()
        scheduler.step(*[] if epoch is None else [epoch])
        rates.append(scheduler.get_last_lr())
    return {**options, "rates": rates}


def cases():
    return {
        "schedules": [schedule(warmup=3, steps=9, min=0.1), schedule(steps=5), schedule(warmup=4, steps=20, min=0.5)],
        "runs": [run(*setting) for setting in SETTINGS],
        "clips": [clip(1.0), clip(0.0), clip(1000.0), clip(1.0, 1e15), clip(1.0, 0.0), clip(1e-6, 1e-6)],
    }
