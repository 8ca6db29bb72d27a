"""Writes printing.json: tensors and PyTorch's repr() of them, the expected output of web/lib/tensor/print.ts.

cases() returns a list of
    name       what the case shows
    shape      [] is a 0-d tensor
    values     float32 values, row-major, with "nan", "inf", "-inf" and "-0" for values that JSON lacks; or
               {"arange": n, "scale": s, "offset": o, "set": [[index, value], ...]}: value i is i * s + o in
               double, rounded to float32, and "set" then replaces single values
    sciMode    true, false or null (automatic), as torch.set_printoptions(sci_mode=...)
    precision  as torch.set_printoptions(precision=...)
    expected   repr(tensor)
"""

import math
import random
import struct

import torch

NAN, INF = math.nan, math.inf
TINY = 2.0**-149  # the smallest denormal
HUGE = (2 - 2.0**-23) * 2.0**127  # the largest float32
JSON_CANNOT_SAY = {"nan": NAN, "inf": INF, "-inf": -INF, "-0": -0.0}


def float32(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]


def to_json(x):
    if x == 0:
        return "-0" if math.copysign(1, x) < 0 else 0
    return x if math.isfinite(x) else str(x)


def arange(shape, scale=1.0, offset=0.0, replaced=()):
    pairs = [list(pair) for pair in replaced]
    return {"arange": math.prod(shape), "scale": scale, "offset": offset, "set": pairs}


def expand(values):
    """The float32 values of a list or of a recipe, as tests/lib/print.test.js expands them."""
    if isinstance(values, list):
        return [float32(JSON_CANNOT_SAY.get(x, x)) for x in values]
    result = [float32(i * values["scale"] + values["offset"]) for i in range(values["arange"])]
    for index, value in values["set"]:
        result[index] = float32(JSON_CANNOT_SAY.get(value, value))
    return result


def case(name, shape, values, sci_mode=None, precision=4):
    if not isinstance(values, dict):
        values = [to_json(float32(x)) for x in values]
    tensor = torch.tensor(expand(values), dtype=torch.float32).reshape(shape)
    try:
        torch.set_printoptions(sci_mode=sci_mode, precision=precision)
        expected = repr(tensor)
    finally:
        torch.set_printoptions(profile="default")
    return {
        "name": name,
        "shape": shape,
        "values": values,
        "sciMode": sci_mode,
        "precision": precision,
        "expected": expected,
    }


def fractions_and_integers():
    yield case("fractions have four decimals", [2, 2], [0.226, 0.347, 0.2133, 0.2394])
    yield case("one fraction gives every value four decimals", [4], [1, 2, 0.5, 40])
    yield case("integers have a bare point", [3], [1, 2, 300])
    yield case("a negative integer widens the columns", [2, 2], [-1, 2, 30, 4])
    yield case("a negative fraction widens the columns", [3], [-1.5, 2, 30.25])
    yield case("a 0-d integer stands without brackets", [], [3])
    yield case("a 0-d fraction stands without brackets", [], [-0.123456])
    yield case("a 0-d tiny value is in scientific notation", [], [1e-7])
    yield case("a 0-d nan", [], [NAN])
    yield case("a 0-d negative zero", [], [-0.0])
    yield case("one element", [1], [0.1])
    yield case("zeros are integers", [2, 3], [0] * 6)
    yield case("a negative zero keeps its sign", [4], [0, -0.0, 1, -1])
    yield case("zeros alone give no column width, so -0. is wider", [2, 2], [0, -0.0, -0.0, 0])
    yield case("a negative zero among fractions", [3], [-0.0, 0.25, 1])
    yield case("a small negative rounds to -0.0000", [2], [-0.0001, 0.0001], sci_mode=False)


def notation_chosen():
    yield case("integers 1000 apart in magnitude stay fixed", [2], [1, 1000])
    yield case("integers more than 1000 apart turn scientific", [2], [1, 1001])
    yield case("fractions 1000 apart stay fixed", [2], [0.5, 500])
    yield case("fractions more than 1000 apart turn scientific", [3], [0.5, -501, 2])
    yield case("zero does not count as the smallest", [3], [0, 0.5, 400])
    yield case("an integer of 1e8 stays fixed", [1], [1e8])
    yield case("an integer above 1e8 turns scientific", [2], [1e8 + 8, 2e8])
    yield case("the float32 nearest to 1e-4 is below it: scientific", [1], [1e-4])
    yield case("the next float32 is above 1e-4: fixed", [1], [float32(1e-4) + 2.0**-37])
    yield case("nan and inf do not change the notation", [4], [NAN, 1, -INF, 1000])
    yield case("exponents have at least two digits", [3], [1e-8, 1e-5, 1e-2])
    yield case("the largest and smallest float32", [4], [HUGE, -HUGE, TINY, -TINY])
    yield case("denormals", [4], [TINY, 3 * TINY, 2.0**-127, -(2.0**-130)])
    yield case("zeros in scientific notation", [4], [0, -0.0, 1e-6, 1])


def not_finite():
    yield case("nan beside integers is wider than the column", [3], [1, NAN, 2])
    yield case("inf beside integers has no point", [2, 2], [INF, 100, -INF, -100])
    yield case("nan and inf beside fractions are padded", [2, 3], [NAN, 0.5, INF, -INF, -0.25, 100.125])
    yield case("nan alone", [3], [NAN, NAN, NAN])
    yield case("inf alone", [2, 2], [INF, -INF, INF, INF])
    yield case("nan and inf in scientific notation", [4], [NAN, 1e-9, INF, -INF])
    scores = [0.2899, -INF, -INF, 0.4656, 0.1723, -INF, 0.4594, 0.1703, 0.1731]
    yield case("masked attention scores", [3, 3], scores)


def notation_forced():
    yield case(
        "scientific forced on fractions is wider than the column", [3], [0.5, -0.25, 40], sci_mode=True
    )
    yield case("scientific forced on integers", [2, 2], [1, -2, 3, 0], sci_mode=True)
    yield case("fixed forced on tiny values keeps their wide columns", [2], [1e-6, -2e-5], sci_mode=False)
    yield case("fixed forced on a wide range", [3], [1e-6, 1, 1e6], sci_mode=False)
    yield case("fixed forced on large integers prints every digit", [3], [1e20, 1e21, 1e22], sci_mode=False)
    yield case("fixed forced on large and small prints every digit", [2], [HUGE, 0.5], sci_mode=False)
    yield case("fixed forced on integers far apart", [3], [1, 5000, -100000], sci_mode=False)
    yield case("zeros ignore forced scientific notation", [3], [0, -0.0, 0], sci_mode=True)
    yield case("nan and inf ignore forced scientific notation", [3], [NAN, INF, -INF], sci_mode=True)
    yield case("nan beside forced scientific notation", [3], [NAN, 1, INF], sci_mode=True)
    halves = [i + 0.5 for i in range(16)]
    yield case("forced scientific wraps by the automatic width", [16], halves, sci_mode=True)
    tiny = [1e-6 * (i + 1) for i in range(10)]
    yield case("forced fixed wraps by the automatic width", [10], tiny, sci_mode=False)


def precisions():
    values = [0.5, 1.5, 2.5, -3.14159274]
    for precision in (0, 1, 2, 6, 10, 20):
        yield case(f"{precision} decimals", [4], values, precision=precision)
        name = f"{precision} decimals in scientific notation"
        yield case(name, [4], values, sci_mode=True, precision=precision)
    yield case("precision does not touch integers", [3], [1, -2, 3], precision=8)
    yield case("no decimals in automatic scientific notation", [4], [2.5e-5, 95, 1e8, -1e-8], precision=0)
    yield case("one decimal of large values", [2], [1e22, 0.5], sci_mode=False, precision=1)
    yield case("no decimals of large values", [2], [1e22, 0.5], sci_mode=False, precision=0)


def ties():
    odd = [1, 3, 5, 7, 9, 11, 13, 15]
    yield case("a tie goes to the even fourth decimal", [8], [i / 32 for i in odd])
    yield case("a tie goes to the even decimal at two", [8], [i / 8 for i in odd], precision=2)
    yield case("a tie goes to the even integer without decimals", [8], [i / 2 for i in odd], precision=0)
    yield case("a negative tie goes to the even decimal", [8], [-i / 32 - 1 for i in odd])
    yield case("a tie of the mantissa goes to even", [8], [1 + i / 32 for i in odd], sci_mode=True)
    large = [1000050, 1000150, 999985, 999995]
    yield case("a tie of a large mantissa goes to even", [4], large, sci_mode=True)
    small = [2.0**-8, 3 * 2.0**-7, 5 * 2.0**-7, 7 * 2.0**-7]
    yield case("a tie of a small mantissa goes to even", [4], small, sci_mode=True)
    yield case("a tie of a one-digit mantissa", [6], [15, 25, 85, 95, 9.5, 8.5], sci_mode=True, precision=0)
    even_power = [369.7734375, 400.0234375, 400.0078125]
    yield case(
        "a tie is decided by the mantissa, not the exponent", [3], even_power, sci_mode=True, precision=8
    )
    near = [0.03125 + 2.0**-28, 0.03125 - 2.0**-29, 0.09375 + 2.0**-27, 0.09375 - 2.0**-27]
    yield case("a value near a tie is not a tie", [4], near)
    yield case(
        "a value near a tie of a one-digit mantissa", [4], [250, 254, 246, 350], sci_mode=True, precision=0
    )
    yield case("rounding up may add a digit", [2], [9.99996, 99.99996])
    yield case("rounding up may raise the exponent", [2], [9.99996, 99999.6], sci_mode=True)


def shapes():
    yield case("three axes have a blank line between blocks", [2, 2, 2], [i / 8 for i in range(8)])
    yield case("four axes have two blank lines between blocks", [2, 2, 1, 2], [i - 4 for i in range(8)])
    yield case("axes of one", [1, 1, 1, 1], [0.5])
    yield case("a column", [4, 1], [0.1, 0.2, 0.3, 0.4])
    yield case("a long row wraps before column 80", [25], [i / 16 for i in range(25)])
    yield case("a long row of integers wraps", [40], list(range(40)))
    yield case("long rows wrap under their own bracket", [2, 12], [(i - 12) * 0.3 for i in range(24)])
    yield case("long rows of a block wrap", [2, 1, 9], [(i - 9) * 1e-5 for i in range(18)])
    yield case("values wider than a line stand one per line", [3], [0.1, 0.2, 0.3], precision=80)
    yield case("nine axes", [1, 2, 1, 1, 2, 1, 1, 1, 2], [i * 1.5 for i in range(8)])


def empties():
    yield case("empty", [0], [])
    yield case("empty rows say their size", [0, 5], [])
    yield case("empty columns say their size", [3, 0], [])
    yield case("empty blocks say their size", [2, 0, 4], [], sci_mode=True)
    yield case("a long size stays on the line", [0] + [10] * 14 + [1], [])
    yield case("a longer size goes to the next line", [0] + [10] * 15, [])


def summaries():
    def summary(name, shape, scale=0.125, offset=0.0, replaced=(), **options):
        return case(name, shape, arange(shape, scale, offset, replaced), **options)

    yield summary("1000 elements are printed in full", [1000], 1.0)
    yield summary("1001 elements are summarized", [1001], 1.0)
    yield summary("1001 elements in 7 rows", [7, 143])
    yield summary("1001 elements in 7 columns", [143, 7])
    yield summary("six rows are all shown", [6, 200], -0.25)
    yield summary("six columns are all shown", [200, 6], -0.25, 3.0)
    yield summary("one row", [1, 1200], 0.001, 1.0)
    yield summary("one column", [1200, 1], 1.0, -600.0)
    yield summary("three axes summarized", [8, 9, 20], 0.1)
    yield summary("three axes with short ones", [4, 60, 5], 0.1, -20.0)
    yield summary("four axes summarized", [7, 2, 10, 8], 0.5)
    yield summary("scientific notation summarized", [10, 1000], 0.01, 0.001)
    yield summary("fixed notation forced on a summary", [10, 1000], 0.01, 0.001, sci_mode=False)
    yield summary("precision in a summary", [2000], 0.3, precision=1)
    hidden = [(3, 0.5), (700, 1e30), (1496, "nan")]
    yield summary("elided values do not affect the format", [1500], 0.0, 2.0, hidden)
    edges = [(0, "nan"), (1, "-inf"), (1999, "-0")]
    yield summary("nan and inf at the edges of a summary", [2000], 0.0, 1.0, edges)
    yield summary("wide values wrap in a summary", [30, 50], 0.1, precision=9, sci_mode=True)


def random_ones():
    rng = random.Random(20240607)
    for magnitude in (1e-6, 1e-4, 1e-2, 1.0, 1e2, 1e4, 1e6):
        for shape in ([3, 4], [2, 2, 3]):
            values = [rng.gauss(0, 1) * magnitude for _ in range(math.prod(shape))]
            yield case(f"normal times {magnitude:g}, shape {shape}", shape, values)
    for shape in ([], [9], [3, 5], [2, 3, 3], [2, 1, 2, 3]):
        for sci_mode in (None, True, False):
            values = [rng.choice((-1, 1)) * 10 ** rng.uniform(-6, 6) for _ in range(math.prod(shape))]
            name = f"magnitudes 1e-6 to 1e6, shape {shape}, sciMode {sci_mode}"
            yield case(name, shape, values, sci_mode=sci_mode, precision=rng.choice((2, 4, 7)))


def cases():
    groups = (
        fractions_and_integers,
        notation_chosen,
        not_finite,
        notation_forced,
        precisions,
        ties,
        shapes,
        empties,
        summaries,
        random_ones,
    )
    result = [one for group in groups for one in group()]
    names = [one["name"] for one in result]
    assert len(set(names)) == len(names), "two cases have the same name"
    return result
