"""Files of torch.save, entry by entry: what pretrained.py makes hostile ones of.

`archive` writes the bytes that PyTorch 1.13 writes for a pickle and its storages: pretrained.py checks it.
"""

import struct
import zlib


def archive(pickle, storages=None, *, before=(), after=None, descriptors=True, name="archive"):
    """A zip with data.pkl, then `before`, the storages, then `after` (PyTorch 1.13: the version).

    pickle       None for none
    storages     the bytes of each key
    descriptors  an entry's sizes and checksum stand behind it, as PyTorch has it; otherwise in front
    """
    entries = [] if pickle is None else [("data.pkl", pickle)]
    entries += [*before, *((f"data/{key}", data) for key, data in sorted((storages or {}).items()))]
    entries += [("version", b"3\n")] if after is None else after
    out, directory = b"", b""
    for path, data in entries:
        path = f"{name}/{path}".encode()
        facts = struct.pack("<III", zlib.crc32(data), len(data), len(data))
        padding = -(len(out) + 30 + len(path) + 4) % 64
        extra = b"FB" + struct.pack("<H", padding) + b"Z" * padding
        flags = 0x808 if descriptors else 0x800
        shared = struct.pack("<HHHHH", 0, flags, 0, 0, 0)
        offset = len(out)
        out += b"PK\3\4" + shared + (bytes(12) if descriptors else facts)
        out += struct.pack("<HH", len(path), len(extra)) + path + extra + data
        if descriptors:
            out += b"PK\7\x08" + facts
        directory += b"PK\1\2\0\0" + shared + facts
        directory += struct.pack("<HHHHHII", len(path), 0, 0, 0, 0, 0, offset) + path
    start, count = len(out), len(entries)
    out += directory
    sizes = struct.pack("<QQQQ", count, count, len(directory), start)
    out += b"PK\6\6" + struct.pack("<QHHII", 44, 0x31E, 45, 0, 0) + sizes
    out += b"PK\6\7" + struct.pack("<IQI", 0, start + len(directory), 1)
    return out + b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, count, count, len(directory), start, 0)


# Opcodes of a pickle.


def text(value):
    data = value.encode()
    return b"X" + struct.pack("<I", len(data)) + data


def number(value):
    if 0 <= value < 256:
        return b"K" + bytes([value])
    if -(2**31) <= value < 2**31:
        return b"J" + struct.pack("<i", value)
    return b"\x8a\x10" + value.to_bytes(16, "little", signed=True)


def tuple_of(values):
    return b"(" + b"".join(number(value) for value in values) + b"t"


def tensor(*, key="0", numel=3, kind="FloatStorage", offset=0, shape=(3,), stride=(1,)):
    """A tensor as torch.save describes it. shape and stride may be opcodes, too."""
    storage = b"(" + text("storage") + f"ctorch\n{kind}\n".encode() + text(key) + text("cpu") + number(numel)
    shape, stride = (part if isinstance(part, bytes) else tuple_of(part) for part in (shape, stride))
    place = number(offset) + shape + stride
    return b"ctorch._utils\n_rebuild_tensor_v2\n((" + storage[1:] + b"tQ" + place + b"\x89}tR"


def pickled(*items):
    """A dict of names and opcodes."""
    return b"\x80\2}(" + b"".join(text(name) + value for name, value in items) + b"u."


def call(function, *arguments):
    """The opcodes of a call, such as that of os.system."""
    module, name = function.rsplit(".", 1)
    return f"c{module}\n{name}\n(".encode() + b"".join(arguments) + b"tR"
