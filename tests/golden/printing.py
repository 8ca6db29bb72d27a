"""Writes printing.json: tensors, options of toString, and PyTorch's repr() of the tensor with these options.

A row has a name, values, and options. Drawn values are randn of a shape after manual_seed(1), times a factor.
"""

import math

import torch

from common import pack

NAN, INF = math.nan, math.inf
TINY = 2.0**-149  # the smallest denormal
HUGE = (2 - 2.0**-23) * 2.0**127  # the largest float32
ODD = (1, 3, 5, 7, 9, 11, 13, 15)
ON, OFF = {"sciMode": True}, {"sciMode": False}
ROWS = [
    ("fractions have four decimals", [[0.226, 0.347], [0.2133, 0.2394]]),
    ("integers have a bare point", [1, 2, 300]),
    ("one fraction gives every value four decimals", [1, 2, 0.5, 40]),
    ("a negative integer widens the columns", [[-1, 2], [30, 4]]),
    ("a negative fraction widens the columns", [-1.5, 2, 30.25]),
    ("a 0-d integer stands without brackets", 3),
    ("a 0-d tiny value is in scientific notation", 1e-7),
    ("zeros are integers", [[0, 0, 0], [0, 0, 0]]),
    ("a negative zero keeps its sign", [0, -0.0, 1, -1]),
    ("zeros alone give no column width, so -0. is wider", [[0, -0.0], [-0.0, 0]]),
    ("a small negative rounds to -0.0000", [-0.0001, 0.0001], OFF),
    # the notation that is chosen
    ("integers 1000 apart in magnitude stay fixed", [1, 1000]),
    ("integers more than 1000 apart turn scientific", [1, 1001]),
    ("fractions 1000 apart stay fixed", [0.5, 500]),
    ("fractions more than 1000 apart turn scientific", [0.5, -501, 2]),
    ("zero does not count as the smallest", [0, 0.5, 400]),
    ("an integer of 1e8 stays fixed", [1e8]),
    ("an integer above 1e8 turns scientific", [1e8 + 8, 2e8]),
    ("the float32 nearest to 1e-4 is below it: scientific", [1e-4]),
    ("the next float32 is above 1e-4: fixed", [torch.tensor(1e-4).item() + 2.0**-37]),
    ("exponents have at least two digits", [1e-8, 1e-5, 1e-2]),
    ("the largest and smallest float32", [HUGE, -HUGE, TINY, -TINY]),
    ("zeros in scientific notation", [0, -0.0, 1e-6, 1]),
    # NaN and infinities
    ("nan and inf do not change the notation", [NAN, 1, -INF, 1000]),
    ("nan beside integers is wider than the column, and inf has no point", [[NAN, 1], [-INF, 2]]),
    ("nan and inf beside fractions are padded", [[NAN, 0.5, INF], [-INF, -0.25, 100.125]]),
    ("nan and inf alone", [NAN, INF, -INF]),
    ("nan and inf in scientific notation", [NAN, 1e-9, INF, -INF]),
    # the notation that is forced
    ("scientific forced on fractions is wider than the column", [0.5, -0.25, 40], ON),
    ("scientific forced on integers", [[1, -2], [3, 0]], ON),
    ("fixed forced on tiny values keeps their wide columns", [1e-6, -2e-5], OFF),
    ("fixed forced on a wide range", [1e-6, 1, 1e6], OFF),
    ("fixed forced on large integers prints every digit", [1e20, 1e21, 1e22], OFF),
    ("fixed forced on large and small prints every digit", [HUGE, 0.5], OFF),
    ("zeros ignore forced scientific notation", [0, -0.0, 0], ON),
    ("nan and inf alone ignore it", [NAN, INF, -INF], ON),
    ("nan beside forced scientific notation", [NAN, 1, INF], ON),
    ("forced scientific wraps by the automatic width", [i + 0.5 for i in range(16)], ON),
    ("forced fixed wraps by the automatic width", [1e-6 * (i + 1) for i in range(10)], OFF),
    # the precision
    *(
        (f"{precision} decimals, {options}", [0.5, 1.5, 2.5, -3.14159274], {"precision": precision, **options})
        for precision in (0, 1, 6, 20)
        for options in ({}, ON)
    ),
    ("precision does not touch integers", [1, -2, 3], {"precision": 8}),
    ("no decimals in automatic scientific notation", [2.5e-5, 95, 1e8, -1e-8], {"precision": 0}),
    ("one decimal of large values", [1e22, 0.5], {"precision": 1, **OFF}),
    ("no decimals of large values", [1e22, 0.5], {"precision": 0, **OFF}),
    # rounding
    ("a tie goes to the even fourth decimal", [i / 32 for i in ODD]),
    ("a tie goes to the even integer without decimals", [i / 2 for i in ODD], {"precision": 0}),
    ("a negative tie goes to the even decimal", [-i / 32 - 1 for i in ODD]),
    ("a tie of the mantissa goes to even", [1 + i / 32 for i in ODD], ON),
    ("a tie of a large mantissa goes to even", [1000050, 1000150, 999985, 999995], ON),
    ("a tie of a small mantissa goes to even", [2.0**-8, 3 * 2.0**-7, 5 * 2.0**-7, 7 * 2.0**-7], ON),
    ("a tie of a one-digit mantissa", [15, 25, 85, 95, 9.5, 8.5], {"precision": 0, **ON}),
    (
        "a tie is decided by the mantissa, not the exponent",
        [369.7734375, 400.0234375, 400.0078125],
        {"precision": 8, **ON},
    ),
    ("a value near a tie is not a tie", [0.03125 + 2.0**-28, 0.03125 - 2.0**-29, 0.09375 + 2.0**-27]),
    ("a value near a tie of a one-digit mantissa", [250, 254, 246, 350], {"precision": 0, **ON}),
    ("rounding up may add a digit", [9.99996, 99.99996]),
    ("rounding up may raise the exponent", [9.99996, 99999.6], ON),
    # shapes
    ("three axes have a blank line between blocks", torch.arange(8).reshape(2, 2, 2) / 8),
    ("four axes have two blank lines between blocks", torch.arange(8).reshape(2, 2, 1, 2) - 4),
    ("a column", [[0.1], [0.2], [0.3], [0.4]]),
    ("a long row wraps before column 80", torch.arange(25) / 16),
    ("a long row of integers wraps", torch.arange(40)),
    ("long rows wrap under their own bracket", torch.arange(-12, 12).reshape(2, 12) * 0.3),
    ("long rows of a block wrap", torch.arange(-9, 9).reshape(2, 1, 9) * 1e-5),
    ("nine axes", torch.arange(8).reshape(1, 2, 1, 1, 2, 1, 1, 1, 2) * 1.5),
    ("empty", []),
    ("empty rows say their size", torch.zeros(0, 5)),
    ("empty columns say their size", torch.zeros(3, 0)),
    ("a long size stays on the line", torch.zeros([0] + [1] * 18 + [100])),
    ("a longer size goes to the next line", torch.zeros([0] + [1] * 18 + [1000])),
    # more than 1000 elements
    ("1000 elements are printed in full", torch.arange(1000)),
    ("1001 elements are summarized", torch.arange(1001)),
    ("elided values do not affect the format", [2.0, 2, 2] + [0.5, 1e30, NAN] * 400 + [2, 2, 2]),
    ("nan and inf at the edges of a summary", [NAN, -INF] + [1.0] * 1000 + [-0.0]),
]
DRAWN = [
    ("1001 elements in 7 rows", [7, 143], 1),
    ("1001 elements in 7 columns", [143, 7], 1),
    ("six rows are all shown", [6, 200], 10),
    ("six columns are all shown", [200, 6], 10),
    ("one row", [1, 1200], 0.1),
    ("one column", [1200, 1], 0.1),
    ("three axes summarized", [8, 9, 20], 100),
    ("three axes with short ones", [4, 60, 5], 1),
    ("four axes summarized", [7, 2, 10, 8], 1),
    ("fixed notation forced on a summary", [10, 1000], 1e-3, OFF),
    ("precision in a summary", [2000], 0.3, {"precision": 1}),
    ("wide values wrap in a summary", [30, 50], 0.1, {"precision": 9, **ON}),
    ("values wider than a line stand one per line", [1] * 63 + [3], 10000),
    *((f"normal times {10.0**power}", [2, 3, 4], 10.0**power) for power in range(-6, 7, 2)),
    *(
        (f"normal in blocks, {options}", [2, 1, 2, 3], 1e4, options)
        for options in ({"precision": 2}, {"precision": 7, **ON}, OFF)
    ),
]


def printed(tensor, sciMode=None, precision=4):
    try:
        torch.set_printoptions(sci_mode=sciMode, precision=precision)
        return repr(tensor)
    finally:
        torch.set_printoptions(profile="default", sci_mode=None)


def cases():
    found = []
    for name, values, *options in ROWS:
        tensor = torch.as_tensor(values).float()
        found.append((name, tensor, pack(tensor), *options))
    for name, shape, factor, *options in DRAWN:
        torch.manual_seed(1)
        found.append((name, torch.randn(shape) * factor, {"shape": shape, "factor": factor}, *options))
    return [
        {"name": name, **values, "options": dict(*options), "expected": printed(tensor, **dict(*options))}
        for name, tensor, values, *options in found
    ]
