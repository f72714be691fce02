"""Heads of safetensors files, judged by the reference implementation: what mdstream accepts it accepts,
with the same tensors, and the other way round but for what no writer does; files of either are the other's.

reference.py CHECKPOINT_HEADS; MDSTREAM_TEST_SEED repeats a run
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "interop"))
from seed import seed  # first: it prints the seed

import json
import random
import struct
import subprocess
import tempfile

import numpy
import safetensors
import safetensors.numpy

heads = sys.argv[1]
print(f"safetensors {safetensors.__version__}")
rng = random.Random(seed)

BITS = {"BOOL": 8, "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6, "U8": 8, "I8": 8, "F8_E5M2": 8, "F8_E4M3": 8,
        "F8_E8M0": 8, "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8, "I16": 16, "U16": 16, "F16": 16, "BF16": 16,
        "I32": 32, "U32": 32, "F32": 32, "C64": 64, "F64": 64, "I64": 64, "U64": 64}


def file_of(text, data):
    if isinstance(text, str):
        text = text.encode("utf-8", "surrogatepass")
    return struct.pack("<Q", len(text)) + text + data


def header_of(tensors, metadata=None):
    """Tensors as (name, dtype, shape); their bytes in a random order."""
    out, at, order = {}, 0, list(tensors)
    rng.shuffle(order)
    for name, dtype, shape in order:
        size = BITS[dtype]
        for extent in shape:
            size *= extent
        out[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + (size + 7) // 8]}
        at += (size + 7) // 8
    items = list(out.items()) + ([("__metadata__", metadata)] if metadata is not None else [])
    rng.shuffle(items)
    return dict(items), at


def random_tensors():
    names = rng.sample(["a", "b.weight", "é", "\u4e16\u754c", "x y", '"q"', "\\", "\n", "\U0001F600", "", "0", "__metadata"], rng.randrange(5))
    return [(name, rng.choice(list(BITS)), [rng.choice([0, 1, 2, 3, 4, 8]) for _ in range(rng.randrange(4))])
            for name in names]


NUMBERS = [0, 1, 4, 8, -1, 2**31, 2**32, 2**53, 2**63, 2**64 - 1, 2**64, 10**30, 4.0, 1e3, "4", None, True, [], [4]]


def mutate(header, size):
    """A header with one or two members changed; the size of its data, too."""
    header = json.loads(json.dumps(header))
    for _ in range(rng.randrange(3)):
        tensors = [name for name in header if name != "__metadata__"]
        choice = rng.randrange(8)
        if choice == 0:
            size = max(0, size + rng.choice([-8, -1, 1, 8]))
        elif choice == 1:
            header["__metadata__"] = rng.choice([None, {}, {"format": "pt"}, {"a": 1}, {"a": None}, [], "pt", 1, {"a": {"b": "c"}}])
        elif tensors:
            about = header[rng.choice(tensors)]
            if not isinstance(about, dict):
                continue
            if choice == 2:
                about.pop(rng.choice(list(about) or [""]), None)
            elif choice == 3:
                about["dtype"] = rng.choice(list(BITS) + ["f32", "F33", "", 7, None])
            elif choice == 4:
                about["shape"] = [rng.choice(NUMBERS[:9]) for _ in range(rng.randrange(4))]
            elif choice == 5:
                about["shape"] = rng.choice(NUMBERS)
            elif choice == 6:
                about["data_offsets"] = [rng.choice(NUMBERS) for _ in range(rng.randrange(4))]
            else:
                about["data_offsets"] = rng.choice(NUMBERS)
    return header, size


def spoil(blob):
    """Bytes cut off, added or changed in the head."""
    blob = bytearray(blob)
    for _ in range(rng.randrange(1, 3)):
        at = rng.randrange(min(len(blob), 200) + 1)
        choice = rng.randrange(5)
        if choice == 0:
            del blob[at:]
        elif choice == 1:
            blob[at:at] = rng.choice([b" ", b"\n", b",", b"0", b"\xff", b"{", b"}", b"\\u", b"\x00", b"\\ud800", b"\xc3\xa9"])
        elif choice == 2:
            del blob[at:at + 1]
        elif at < len(blob):
            blob[at] = rng.choice(b"0123456789{}[]\",: \\ux\xc3\xa9\x7f\x01e.-") if choice == 3 else rng.randrange(256)
    return bytes(blob)


def stricter(blob):
    """Whether mdstream refuses what the reference takes: equal names, foreign members, arrays as entries."""
    class Twice(Exception):
        pass

    def unique(pairs):
        if len({key for key, _ in pairs}) != len(pairs):
            raise Twice
        return dict(pairs)

    try:
        header = json.loads(blob[8:8 + struct.unpack("<Q", blob[:8])[0]], object_pairs_hook=unique)
    except Twice:
        return True
    return any(isinstance(about, list) or set(about or {}) > {"dtype", "shape", "data_offsets"}
               for name, about in header.items() if name != "__metadata__")


def judge(blob):
    """What the reference says: tensors by name as [dtype, shape, bytes], or None."""
    try:
        return {name: [about["dtype"], list(about["shape"]), bytes(about["data"])]
                for name, about in safetensors.deserialize(blob)}
    except safetensors.SafetensorError:
        return None


def judged_by_reference():
    blobs = []
    for _ in range(6000):
        header, size = header_of(random_tensors(), rng.choice([None, None, {"format": "pt"}]))
        if rng.random() < 0.7:
            header, size = mutate(header, size)
        text = json.dumps(header, ensure_ascii=rng.random() < 0.5, separators=rng.choice([(",", ":"), (", ", ": ")]))
        blob = file_of(" " * rng.choice([0, 0, 0, 3]) + text + " " * rng.choice([0, 0, 5]), rng.randbytes(min(size, 1 << 20)))
        blobs.append(spoil(blob) if rng.random() < 0.4 else blob)
    out = subprocess.run([heads, "read"], input=b"".join(struct.pack("<Q", len(b)) + b for b in blobs),
                         stdout=subprocess.PIPE, check=True).stdout.decode().splitlines()
    assert len(out) == len(blobs)
    counts = {"both take": 0, "both refuse": 0, "stricter": 0}
    for blob, line in zip(blobs, out):
        reference = judge(blob)
        if line.startswith("refused: "):
            if reference is None:
                counts["both refuse"] += 1
            else:
                assert stricter(blob), f"only mdstream refuses {blob!r}: {line}"
                counts["stricter"] += 1
            continue
        assert reference is not None, f"only mdstream takes {blob!r}"
        data = blob[8 + struct.unpack("<Q", blob[:8])[0]:]
        mine = {name: [dtype, shape, data[begin:end]]
                for name, (dtype, shape, begin, end) in json.loads(line)["tensors"].items()}
        assert mine == reference, f"{blob!r}: {mine} is not {reference}"
        counts["both take"] += 1
    print(counts)
    assert min(counts["both take"], counts["both refuse"]) > 1000


def heads_are_equal():
    """Of what the reference writes, mdstream writes the head to the byte."""
    for _ in range(30):
        arrays = {f"layer.{i}": numpy.zeros([rng.randrange(4) for _ in range(rng.randrange(4))],
                                            rng.choice(["<f4", "<f8", "<i8", "u1", "<f2", "?", "<u2"]))
                  for i in range(rng.randrange(8))}
        metadata = rng.choice([{}, {"format": "pt"}])
        theirs = safetensors.numpy.save(arrays, metadata=metadata or None)
        head = json.loads(theirs[8:8 + struct.unpack("<Q", theirs[:8])[0]])
        head.pop("__metadata__", None)
        ask = {"metadata": metadata, "tensors": {name: [about["dtype"], about["shape"]] for name, about in head.items()}}
        mine = subprocess.run([heads, "write"], input=json.dumps(ask).encode(), stdout=subprocess.PIPE, check=True).stdout
        assert theirs.startswith(mine), f"{mine!r} is not the head of {theirs!r}"


def opens_what_is_written():
    """Any names and all types of mdstream's, by the reference; numbers through its NumPy form."""
    for _ in range(30):
        tensors = [(name, dtype, shape) for name, dtype, shape in random_tensors() if name]
        tensors = [(n, d, s + [4]) for n, d, s in tensors]  # whole bytes
        ask = {"metadata": {"a": "é", "b": "\n"}, "tensors": {n: [d, s] for n, d, s in tensors}}
        head = subprocess.run([heads, "write"], input=json.dumps(ask).encode(), stdout=subprocess.PIPE, check=True).stdout
        size = sum(about["data_offsets"][1] - about["data_offsets"][0]
                   for name, about in json.loads(head[8:]).items() if name != "__metadata__")
        got = judge(head + bytes(size))
        assert got is not None and {n: v[:2] for n, v in got.items()} == {n: [d, s] for n, d, s in tensors}
        assert len(head) % 8 == 0
    ask = {"metadata": {"format": "pt"}, "tensors": {"w": ["F32", [2, 3]], "n": ["I64", []], "none": ["F32", [0, 3]]}}
    head = subprocess.run([heads, "write"], input=json.dumps(ask).encode(), stdout=subprocess.PIPE, check=True).stdout
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "model.safetensors")
        with open(path, "wb") as out:
            out.write(head + struct.pack("<q6f", 7, 1, 2, 3, 4, 5, 6))
        with safetensors.safe_open(path, framework="numpy") as opened:
            assert opened.metadata() == {"format": "pt"}
            assert opened.get_tensor("w").tolist() == [[1, 2, 3], [4, 5, 6]] and opened.get_tensor("n") == 7
            assert opened.get_tensor("none").shape == (0, 3)


judged_by_reference()
heads_are_equal()
opens_what_is_written()
