"""Writes all golden values, the files tests/golden/*.json that the tests compare with: ./build.sh golden

This file writes random.json. Every other file of this folder has a function cases(), whose result is written
to the .json of the same name. SHA256SUMS ties the files to the programs that wrote them.

Inputs that torch.manual_seed determines are not stored: the package draws the same bits. PyTorch computes
outputs in float64 from the float32 inputs, and `pack` rounds them to float32. Where a test compares bits,
they are PyTorch's float32 results. The random numbers are those of PyTorch on x86 with AVX2, where its
kernels use fused multiply-add.
"""

import hashlib
import importlib
import json
import pathlib

import torch

from common import pack

HERE = pathlib.Path(__file__).parent


def random():
    """random.json: torch.randn and torch.rand, bit for bit, long ones as a digest."""
    cases = []
    for seed in (0, 1, 123, 2**31, 2**32 - 1, -1, 2**40 + 7):
        for name, draw in (("randn", torch.randn), ("rand", torch.rand)):
            for n in (1, 2, 3, 15, 16, 17, 31, 32, 33, 100):
                torch.manual_seed(seed)
                cases.append({"seed": seed, "calls": [[name, [n]]], "expected": [pack(draw(n))]})
    torch.manual_seed(7)
    calls = [
        ["randn", [3]],
        ["rand", [2, 3]],
        ["randn", [4]],
        ["randn", [2, 10]],
        ["randn", [1]],
        ["rand", [700]],
    ]
    cases.append(
        {"seed": 7, "calls": calls, "expected": [pack(getattr(torch, name)(shape)) for name, shape in calls]}
    )
    digests = []
    for name in ("randn", "rand"):
        torch.manual_seed(123)
        digest = hashlib.sha256(getattr(torch, name)(1000003).numpy().tobytes()).hexdigest()
        digests.append({"seed": 123, "name": name, "n": 1000003, "sha256": digest})
    return {"cases": cases, "digests": digests}


def lines(value, depth=2):
    """`value` as JSON with one line for each case, so that a diff shows which cases changed.

    Cases are the elements of a list of dicts, and the values of the outer two levels of dicts.
    """
    compact = {"separators": (",", ":")}
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return "[\n" + ",\n".join(json.dumps(one, **compact) for one in value) + "\n]"
    if isinstance(value, dict) and depth > 0:
        parts = [f"{json.dumps(key)}:{lines(one, depth - 1)}" for key, one in value.items()]
        return "{\n" + ",\n".join(parts) + "\n}"
    return json.dumps(value, **compact)


others = {
    path.stem: importlib.import_module(path.stem).cases
    for path in sorted(HERE.glob("*.py"))
    if path.stem not in ("golden", "common", "back", "pretrained_models", "torchfile")
}
for name, cases in {"random": random, **others}.items():
    (HERE / f"{name}.json").write_text(lines(cases()) + "\n")
# The programs and the files that they wrote, in the format of sha256sum: a test compares them.
made = sorted(path for path in HERE.iterdir() if path.suffix in (".py", ".json"))
made += sorted((HERE / "pretrained").iterdir())
sums = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(HERE)}\n" for path in made]
(HERE / "SHA256SUMS").write_text("".join(sums))
