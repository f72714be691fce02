#!/usr/bin/env python3
"""Models of safetensors and transformers become checkpoints of mdstream, and the other way round; casts are torch's.

Usage: checkpoints.py MDSTREAM, the command line; MDSTREAM_TEST_SEED repeats a run.
"""
from seed import seed  # first: it prints the seed

import glob
import json
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile

import numpy
import safetensors
import safetensors.torch
import torch
import transformers

program = sys.argv[1]
print(f"safetensors {safetensors.__version__}, transformers {transformers.__version__}, torch {torch.__version__}")
rng = random.Random(seed)
torch.manual_seed(seed)
transformers.logging.set_verbosity_error()


def run(*arguments):
    done = subprocess.run([program, "checkpoint", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 0, (arguments, done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def same(a, b):
    """Equal to the bit, NaN as NaN."""
    assert a.dtype == b.dtype and a.shape == b.shape, (a.dtype, b.dtype, a.shape, b.shape)
    as_bits = {2: torch.int16, 4: torch.int32, 8: torch.int64}[a.element_size()]
    return bool(((a.view(as_bits) == b.view(as_bits)) | (a.isnan() & b.isnan())).all())


def transformers_both_ways(work):
    # The embedding has 1.5 MB, more than the files of 1 MiB below: it is cut.
    config = transformers.GPT2Config(n_layer=2, n_embd=128, n_head=2, vocab_size=3000, n_positions=64)
    model = transformers.GPT2LMHeadModel(config)
    theirs, models, exported = f"{work}/theirs", f"{work}/run", f"{work}/exported"
    model.save_pretrained(theirs, safe_serialization=True, max_shard_size="500KB")
    assert os.path.exists(f"{theirs}/model.safetensors.index.json")
    report = run("import", theirs, models, "--file-mb", "1", "--step", "5")
    assert run("show", models)["step"] == 5 and report["tensors"] == len(run("show", models)["tensors"])
    assert run("verify", models)["damaged"] == []
    files = run("export", "--out", exported, "--file-mb", "1", models)["files"]
    assert len(files) > 3 and files[-1] == "model.safetensors.index.json", files
    shutil.copy(f"{theirs}/config.json", exported)
    back, info = transformers.GPT2LMHeadModel.from_pretrained(exported, output_loading_info=True)
    assert not any(info.values()), info
    wanted, got = model.state_dict(), back.state_dict()
    assert wanted.keys() == got.keys() and all(same(wanted[name], got[name]) for name in wanted)

    # What the index says is what the files have.
    index = json.load(open(f"{exported}/model.safetensors.index.json"))
    stored = {}
    for name in files[:-1]:
        with safetensors.safe_open(f"{exported}/{name}", framework="pt") as opened:
            assert opened.metadata() == {"format": "pt"}
            for each in opened.keys():
                assert each not in stored and index["weight_map"][each] == name
                stored[each] = opened.get_tensor(each)
    assert stored.keys() == index["weight_map"].keys()
    assert index["metadata"]["total_size"] == sum(each.numel() * each.element_size() for each in stored.values())

    # Renamed and cast on the way in, and back on the way out: the base model of it.
    base = f"{work}/base"
    run("import", f"{theirs}/model.safetensors.index.json", base, "--rename", "transformer.=", "--cast", "BF16")
    run("export", "--out", f"{work}/narrow", base, "--cast", "F32")
    shutil.copy(f"{theirs}/config.json", f"{work}/narrow")
    narrow, info = transformers.GPT2Model.from_pretrained(f"{work}/narrow", output_loading_info=True)
    assert not info["missing_keys"] and not info["unexpected_keys"], info
    for name, each in model.transformer.state_dict().items():
        if each.is_floating_point():
            assert same(narrow.state_dict()[name], each.bfloat16().float()), name
    return models, stored


def files_of_a_run(models, stored, work):
    """What ranks write is safetensors, too; the parts are where DCP_SHARDING_INFO says."""
    directory, = {os.path.dirname(each) for each in glob.glob(f"{models}/data/*/*/*.safetensors")}
    seen = {name: torch.full_like(each, float("nan")) for name, each in stored.items() if each.is_floating_point()}
    parts = 0
    for file in glob.glob(f"{directory}/*.safetensors"):
        with safetensors.safe_open(file, framework="pt") as opened:
            begins = json.loads(opened.metadata()["DCP_SHARDING_INFO"])
            assert begins.keys() == set(opened.keys())
            for name in opened.keys():
                part, begin = opened.get_tensor(name), begins[name]["saved_offsets"]
                if name in seen:
                    seen[name][tuple(slice(b, b + n) for b, n in zip(begin, part.shape))] = part
                    parts += 1
    assert parts > len(seen), "no tensor was cut"
    assert all(same(each, stored[name]) for name, each in seen.items())
    again = f"{work}/again"
    run("import", directory, again)
    run("export", "--out", f"{work}/again-plain", again)
    whole = safetensors.torch.load_file(f"{work}/again-plain/model.safetensors")
    assert whole.keys() == stored.keys()
    assert all(torch.equal(whole[name], stored[name]) for name in stored)


def every_type(work):
    """Any bytes of any type, names and shapes, as the reference reads them."""
    bits = {"BOOL": 8, "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6, "U8": 8, "I8": 8, "F8_E5M2": 8, "F8_E4M3": 8,
            "F8_E8M0": 8, "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8, "I16": 16, "U16": 16, "F16": 16, "BF16": 16,
            "I32": 32, "U32": 32, "F32": 32, "C64": 64, "F64": 64, "I64": 64, "U64": 64}
    names = ["é", "\u4e16\u754c", "x y", '"q"', "\\", "\n", "\U0001F600", "0", "__metadata"]
    header, data = {"__metadata__": {"format": "pt", "who": "é\n"}}, b""
    for i, (dtype, width) in enumerate(bits.items()):
        for shape in ([], [0], [3, 0, 2], [8], [4, rng.randrange(1, 9), 2]):
            count = int(numpy.prod(shape, dtype=int))
            if count * width % 8:
                continue
            part = rng.randbytes(count * width // 8)
            header[f"{rng.choice(names)} {i} {shape}"] = {"dtype": dtype, "shape": shape,
                                                          "data_offsets": [len(data), len(data) + len(part)]}
            data += part
    text = json.dumps(header, ensure_ascii=rng.random() < 0.5).encode() + b" " * rng.randrange(8)
    blob = struct.pack("<Q", len(text)) + text + data
    os.mkdir(f"{work}/types")
    with open(f"{work}/types/any.safetensors", "wb") as out:
        out.write(blob)
    run("import", f"{work}/types/any.safetensors", f"{work}/types/run")
    run("export", "--out", f"{work}/types/out", f"{work}/types/run")
    with open(f"{work}/types/out/model.safetensors", "rb") as made:
        got = made.read()
    described = lambda blob: {name: (about["dtype"], list(about["shape"]), bytes(about["data"])) for name, about in safetensors.deserialize(blob)}
    assert described(got) == described(blob) and len({each[0] for each in described(got).values()}) == len(bits)


def casts(work):
    """All 16-bit floats; random floats, and those in the middle of two narrower ones."""
    every = torch.arange(-32768, 32768, dtype=torch.int32).to(torch.int16)
    singles = torch.tensor([rng.getrandbits(32) - 2**31 for _ in range(200_000)], dtype=torch.int64).to(torch.int32)
    of_bf16 = torch.tensor([rng.getrandbits(16) << 16 | 0x8000 + rng.randrange(-1, 2) for _ in range(50_000)], dtype=torch.int64)
    of_f16 = every.view(torch.float16).float().view(torch.int32)[torch.randperm(65536)[:50_000]].to(torch.int64)
    of_f16 = of_f16 + torch.tensor([0x1000 + rng.randrange(-1, 2) for _ in range(50_000)])
    wide = torch.cat([singles.to(torch.int64), of_bf16, of_f16]).to(torch.int32).view(torch.float32)
    doubles = torch.tensor([rng.getrandbits(64) - 2**63 for _ in range(100_000)], dtype=torch.int64).view(torch.float64)
    tensors = {"f16": every.view(torch.float16), "bf16": every.clone().view(torch.bfloat16), "f32": wide,
               "f64": torch.cat([doubles, wide.double(), wide.double() * (1 + 2**-40)]), "i32": singles}
    os.mkdir(f"{work}/casts")
    safetensors.torch.save_file(tensors, f"{work}/casts/model.safetensors")
    compared = 0
    for name, dtype in {"F16": torch.float16, "BF16": torch.bfloat16, "F32": torch.float32, "F64": torch.float64}.items():
        imported = f"{work}/casts/{name}"
        run("import", f"{work}/casts/model.safetensors", imported, "--cast", name)
        run("export", "--out", f"{imported}-plain", imported)
        got = safetensors.torch.load_file(f"{imported}-plain/model.safetensors")
        assert torch.equal(got["i32"], singles)
        for each, tensor in tensors.items():
            if each == "i32":
                continue
            if (each, name) == ("f64", "F16"):  # torch rounds twice; NumPy does not
                with numpy.errstate(all="ignore"):
                    wanted = torch.from_numpy(tensor.numpy().astype(numpy.float16))
            elif (each, name) == ("f64", "BF16"):
                exact = tensor == tensor.float().double()
                wanted = torch.where(exact, tensor.float(), torch.zeros(())).bfloat16()
                got[each] = torch.where(exact, got[each], torch.zeros((), dtype=dtype))
            else:
                wanted = tensor.to(dtype)
            differs = got[each].isnan() != wanted.isnan()
            assert not differs.any() and same(got[each], wanted), (each, name)
            compared += wanted.numel()
    print(f"{compared} casts")


with tempfile.TemporaryDirectory() as work:
    files_of_a_run(*transformers_both_ways(work), work)
    every_type(work)
    casts(work)
