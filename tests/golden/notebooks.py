"""Writes notebooks.json: what PyTorch prints for each cell of notebooks/*.py, and the cell.

Such a file has the PyTorch of the notebook of the same name in web/notebook/. Its cells begin with `# %%`, as
the code cells of the notebook begin with `// %%`. A cell runs with the variables of the cells before it. Tensors
are printed without grad_fn, which gpt-layers does not show. To train takes a minute, so a notebook whose code
has not changed keeps its record. After a change of the text in train.mjs, remove train's record first.
"""

import contextlib
import io
import json
import os
import pathlib
import re

import torch

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[1]
FILES = {"train.mjs": ROOT / "web/notebook", "ckpt.pt": HERE / "pretrained"}


def run(code, variables):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, variables)
    return re.sub(r",\s*(grad_fn=<\w+>|requires_grad=True)\)", ")", printed.getvalue()).rstrip("\n")


def record(codes):
    """Runs the cells where the files that they read are."""
    variables = {}
    torch.set_printoptions(profile="default", sci_mode=None)
    found = [{"code": code, "prints": run(code, variables)} for code in codes]
    torch.set_printoptions(profile="default", sci_mode=None)
    return found


def cells(path, known):
    codes = [code.strip() for code in path.read_text().split("# %%\n")[1:]]
    if codes == [cell["code"] for cell in known]:
        return known
    folder = os.getcwd()
    for name, beside in FILES.items():
        if name in path.read_text():
            os.chdir(beside)
    try:
        return record(codes)
    finally:
        os.chdir(folder)


def cases():
    recorded = HERE / "notebooks.json"
    known = json.loads(recorded.read_text()) if recorded.exists() else {}
    paths = sorted((HERE / "notebooks").glob("*.py"))
    return {path.stem: cells(path, known.get(path.stem, [])) for path in paths}
