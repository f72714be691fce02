#!/usr/bin/env python3
"""torch.distributed.checkpoint loads what ranks of mdstream wrote, by another cut, and mdstream what its ranks wrote.

Usage: dcp.py MDSTREAM, the command line. Not one of ctest's: it takes a torch of 2.9 or later, 7 GB with what it needs:
python3 -m venv ENV && ENV/bin/pip install torch safetensors numpy && ENV/bin/python tests/interop/dcp.py build/tests/bin/mdstream
"""
import glob
import json
import os
import subprocess
import sys
import tempfile

import safetensors.torch
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import torch.multiprocessing
from torch.distributed.checkpoint import HuggingFaceStorageReader, HuggingFaceStorageWriter
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Replicate, Shard, distribute_tensor

RANKS = 2


def run(program, *arguments):
    done = subprocess.run([program, "checkpoint", *arguments], capture_output=True, text=True)
    assert done.returncode == 0, (arguments, done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def tensors():
    torch.manual_seed(7)
    return {"rows": torch.randn(1001, 300), "columns": torch.randn(64, 70).bfloat16(), "flat": torch.arange(5003),
            "both": torch.randn(7, 6, 5, dtype=torch.float64), "scalar": torch.tensor(3.5), "bytes": torch.arange(256, dtype=torch.uint8)}


def cut(name):
    """How torch's ranks hold a tensor: not as its files are cut."""
    return {"columns": Shard(1), "both": Shard(2), "scalar": Replicate()}.get(name, Shard(0))


def rank_of_torch(rank, directory, written):
    dist.init_process_group("gloo", init_method=f"file://{directory}/meet", rank=rank, world_size=RANKS)
    mesh = init_device_mesh("cpu", (RANKS,))
    wanted = tensors()
    mine = {name: distribute_tensor(torch.zeros_like(each), mesh, [cut(name)]) for name, each in wanted.items()}
    dcp.load(mine, storage_reader=HuggingFaceStorageReader(path=written))
    for name, each in mine.items():
        assert torch.equal(each.full_tensor(), wanted[name]), name
    dcp.save(mine, storage_writer=HuggingFaceStorageWriter(path=f"{directory}/theirs", save_distributed=True))
    dist.destroy_process_group()


def main():
    program = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as work:
        safetensors.torch.save_file(tensors(), f"{work}/model.safetensors")
        run(program, "import", f"{work}/model.safetensors", f"{work}/run", "--file-mb", "1")
        written, = {os.path.dirname(each) for each in glob.glob(f"{work}/run/data/*/*/*.safetensors")}
        assert len(os.listdir(written)) > 3, "no tensor was cut"
        torch.multiprocessing.spawn(rank_of_torch, (work, written), nprocs=RANKS)
        files = glob.glob(f"{work}/theirs/*.safetensors")
        assert len(files) == RANKS, files
        run(program, "import", f"{work}/theirs", f"{work}/back")
        assert run(program, "verify", f"{work}/back")["damaged"] == []
        run(program, "export", "--out", f"{work}/plain", f"{work}/back")
        back = safetensors.torch.load_file(f"{work}/plain/model.safetensors")
        assert back.keys() == tensors().keys()
        assert all(torch.equal(back[name], each) for name, each in tensors().items())
    print(f"torch {torch.__version__}: {len(back)} tensors both ways")


if __name__ == "__main__":
    main()
