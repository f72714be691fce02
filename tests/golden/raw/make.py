#!/usr/bin/env python3
"""Makes the files of this directory by the real writers of each format.

    python3 -m venv venv && venv/bin/pip install numpy==2.4.6 pandas==3.1.1 webdataset==1.0.2
    git clone https://github.com/karpathy/llm.c          (commit f1e2ace651495b74ae22d45d1723443fd00ecd3a)
    pip download --no-deps megatron-core==0.16.1, and unpack the wheel
    venv/bin/python make.py LLM_C_DIRECTORY MEGATRON_DIRECTORY

GNU tar makes four of the archives, pigz and pzstd (Debian's pigz and zstd) compress lines. expected.json has what the formats' own readers read.
"""

import csv
import importlib.util
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import types

import numpy as np
import pandas as pd
import webdataset as wds

HERE = os.path.dirname(os.path.abspath(__file__))
llmc, megatron = sys.argv[1:3]
expected = {}


def at(name):
    return os.path.join(HERE, name)


# --- rows -----------------------------------------------------------------------------------------
frame = pd.DataFrame({
    "text": ["plain", "comma, \"quote\"", "line\nbreak", "caf\u00e9 \U0001F600", ""],
    "n": [1, -2, 3, 2**53 + 1, 0],
    "x": [0.5, 1e-7, -3.25, 1e300, 2.0],
    "ok": [True, False, True, True, False],
    "list": [[1, 2], [3], [4, 5, 6], [7], [8]],
})
frame.to_json(at("pandas.jsonl"), orient="records", lines=True, double_precision=15)
expected["pandas.jsonl"] = [json.loads(line) for line in open(at("pandas.jsonl"), encoding="utf-8")]
columns = ["text", "n", "x"]
frame[columns].to_csv(at("pandas.csv"), index=False)
with open(at("excel.csv"), "w", newline="", encoding="utf-8-sig") as out:
    writer = csv.DictWriter(out, columns)  # \r\n, and quotes where they are needed
    writer.writeheader()
    for row in frame[columns].to_dict("records"):
        writer.writerow(row)
for name, encoding in [("pandas.csv", "utf-8"), ("excel.csv", "utf-8-sig")]:
    with open(at(name), newline="", encoding=encoding) as text:
        expected[name] = list(csv.DictReader(text))

lines = "".join('{"n": %d, "text": "a line that comes again and again, so that it takes no room"}\n' % (i % 4) for i in range(28000))
for name, command in [("pigz.jsonl.gz", "pigz -9 -p 3 -n"), ("pzstd.jsonl.zst", "pzstd -q -p 4 -1 -c")]:
    with open(at(name), "wb") as out:
        subprocess.run(command.split(), input=lines.encode(), stdout=out, check=True)

# --- archives -------------------------------------------------------------------------------------
long_directory = "a-directory-with-a-long-name/" * 6
samples = [
    {"__key__": "train/0001", "txt": "one", "cls": 7, "json": {"a": [1, None]},
     "npy": np.arange(6, dtype=np.float32).reshape(2, 3)},
    {"__key__": "train/0002", "txt": "zw\u00f6lf", "cls": -1, "json": {}, "npy": np.ones((1,), np.int64)},
    {"__key__": "train/0003", "txt": "x" * 1500, "cls": 0, "json": [], "npy": np.zeros((2, 2, 2), np.uint8)},
]
with wds.TarWriter(at("webdataset.tar"), mtime=0, user="u", group="g") as sink:
    for sample in samples:
        sink.write(sample)


def tar_of(name, tar_format):
    with tarfile.open(at(name), "w", format=tar_format) as archive:
        archive.addfile(tarfile.TarInfo("d"))
        for key in ["d/a", long_directory + "b", "d.e/caf\u00e9"]:
            for field, data in [("txt", key.encode()), ("Seg.PNG", b"\x89PNG")]:
                info = tarfile.TarInfo(f"{key}.{field}")
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data))


tar_of("python-gnu.tar", tarfile.GNU_FORMAT)
tar_of("python-pax.tar", tarfile.PAX_FORMAT)
with tempfile.TemporaryDirectory() as directory:
    os.makedirs(os.path.join(directory, long_directory))
    for key in ["a", long_directory + "b", "caf\u00e9"]:
        for field, data in [("txt", key.encode()), ("cls", b"12\n")]:
            with open(os.path.join(directory, f"{key}.{field}"), "wb") as out:
                out.write(data)
    os.symlink("a.txt", os.path.join(directory, "link.txt"))
    for tar_format in ["gnu", "pax", "ustar", "v7"]:
        names = "a.txt a.cls link.txt caf\u00e9.txt caf\u00e9.cls".split()
        if tar_format != "v7":
            names += [long_directory + "b.txt", long_directory + "b.cls"]
        subprocess.run(["tar", "-C", directory, f"--format={tar_format}", "--owner=u:1", "--group=g:1", "--mtime=@0",
                        "-cf", at(f"gnutar-{tar_format}.tar"), *names], check=True)

for name in sorted(os.listdir(HERE)):
    if name.endswith(".tar"):
        expected[name] = []
        files = wds.tariterators.tar_file_expander([{"url": at(name), "stream": open(at(name), "rb")}])
        for sample in wds.tariterators.group_by_keys(files):
            expected[name].append({k: v.hex() if isinstance(v, bytes) else v for k, v in sample.items()
                                   if k not in ("__url__", "__local_path__")})

# --- tokens ---------------------------------------------------------------------------------------
rng = np.random.default_rng(17)
documents = [rng.integers(1, 50000, n).tolist() for n in (5, 1, 40, 12, 3)]


def load(path, name, **stubs):
    sys.modules.update(stubs)
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


common = load(os.path.join(llmc, "dev/data/data_common.py"), "data_common",
              requests=types.ModuleType("requests"), tqdm=types.SimpleNamespace(tqdm=None))
common.write_datafile(at("llmc-gpt2.bin"), [t for d in documents for t in [50256] + d])
common.write_datafile(at("llmc-llama3.bin"), [t for d in documents for t in [128000] + d], "llama-3")
np.array([t for d in documents for t in d + [50256]], dtype=np.uint16).tofile(at("nanogpt.bin"))
expected["documents"] = documents

torch = types.ModuleType("torch")
torch.Tensor = np.ndarray
torch.numel = np.size
torch.tensor = np.array
torch.utils = types.SimpleNamespace(data=types.SimpleNamespace(Dataset=object))
others = {}
for name in ["megatron", "megatron.core", "megatron.core.datasets", "megatron.core.datasets.object_storage_utils",
             "megatron.core.msc_utils", "megatron.core.utils"]:
    others[name] = types.ModuleType(name)
storage = others["megatron.core.datasets.object_storage_utils"]
for name in ["S3Config", "ObjectStorageConfig", "cache_index_file", "dataset_exists", "get_index_cache_path",
             "get_object_storage_access", "is_object_storage_path", "parse_s3_path", "S3Client"]:
    setattr(storage, name, lambda *_, **__: False)
others["megatron.core.msc_utils"].MultiStorageClientFeature = types.SimpleNamespace(is_enabled=lambda: False)
others["megatron.core.utils"].log_single_rank = lambda *_, **__: None
indexed = load(os.path.join(megatron, "megatron/core/datasets/indexed_dataset.py"), "indexed_dataset", torch=torch,
               **others)
for name, kind in [("megatron-uint16", np.uint16), ("megatron-int32", np.int32)]:
    builder = indexed.IndexedDatasetBuilder(at(name + ".bin"), dtype=kind)
    # the second document is of two sequences, the fourth empty
    for parts in [[documents[0]], [documents[1], documents[2]], [documents[3]], [], [documents[4]]]:
        builder.add_document(np.array([t for p in parts for t in p], dtype=kind), [len(p) for p in parts])
    builder.finalize(at(name + ".idx"))
    read = indexed.IndexedDataset(at(name))
    bounds = read.document_indices
    expected[name] = [[int(t) for i in range(bounds[d], bounds[d + 1]) for t in read[i]] for d in range(len(bounds) - 1)]

with open(at("expected.json"), "w") as out:
    json.dump(expected, out, indent=1, ensure_ascii=True)
    out.write("\n")
