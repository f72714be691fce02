#!/usr/bin/env python3
"""MosaicML Streaming as a peer: `mosaic.py BENCH CASE DIRECTORY [VARIANT]`; see turns.py.

`default` iterates with the default predownload, with which its threads fight for the interpreter's lock; `workers` with the
whole epoch's and two worker processes. A first epoch has the default predownload, in `workers` too.
"""
import logging
import multiprocessing
import os
import shutil
import sys
import tempfile
import time
import warnings

warnings.simplefilter('ignore')
logging.disable(logging.WARNING)

import numpy as np
from streaming import MDSWriter, StreamingDataset
from streaming.base.shuffle import get_shuffle
from torch.utils.data import DataLoader

from epochs import BATCH_SIZE, first_epochs
from turns import endless, for_a_second, serve

NAME = 'mosaicml-streaming'


def batch_size(case):
    return 256 if 'JPEG' in case else BATCH_SIZE


def own_copy(directory, scratch):
    """Links to the files: two processes cannot have one directory."""
    for name in os.listdir(directory):
        os.link(os.path.join(directory, name), os.path.join(scratch, name))
    return scratch


def wait_until_prepared(dataset, limit=120):
    """Its threads walk through all samples first, and hold the interpreter's lock while they do: its best comes after."""
    end = time.monotonic() + limit
    while dataset._iterator.prepare_index < dataset._iterator.total and time.monotonic() < end:
        time.sleep(0.1)


def wait_until_children_rest(limit=120):
    """The same in worker processes: whatever they do, they have done it when they use no more time."""
    def ticks():
        total = 0
        for child in multiprocessing.active_children():
            with open(f'/proc/{child.pid}/stat') as f:
                total += sum(map(int, f.read().rpartition(')')[2].split()[11:13]))
        return total
    end, used = time.monotonic() + limit, -1000
    while (now := ticks()) - used > 5 and time.monotonic() < end:
        used = now
        time.sleep(0.5)


def loader_case(case, directory, variant, scratch):
    local = own_copy(directory, scratch)
    if case.startswith('random access'):
        dataset = StreamingDataset(local=local, batch_size=batch_size(case))
        order = np.random.default_rng(7).permutation(len(dataset)).tolist()
        def one(i):
            sample = dataset[i]['x']
            return 1 if sample is not None else 0
        serve(NAME, for_a_second(endless(lambda: map(one, order))))
    if case.startswith('iteration'):
        more = {} if variant == 'default' else {'predownload': 1_000_000}
        dataset = StreamingDataset(local=local, batch_size=batch_size(case), shuffle=True, **more)
        loader = DataLoader(dataset, batch_size=batch_size(case), num_workers=2 if variant == 'workers' else 0)
        name = NAME + {'': '', 'default': ', default predownload', 'workers': ', two workers'}[variant]
        steps = endless(lambda: (len(batch['x']) for batch in loader))
        next(steps)
        if not variant:  # by default it does not walk so far
            wait_until_prepared(dataset)
        elif variant == 'workers':
            wait_until_children_rest()
        serve(name, for_a_second(steps))


def first_epoch(directory, variant):
    """With the block of the other readers: its own default spans the dataset, so that the first batch needs every shard.
    Each worker has one thread that downloads; it walks from sample to sample and holds the interpreter's lock, so that a
    predownload beyond the default gains nothing."""
    def epoch(url, cache):
        dataset = StreamingDataset(remote=url, local=cache, batch_size=BATCH_SIZE, shuffle=True, shuffle_block_size=262_144)
        loader = DataLoader(dataset, batch_size=BATCH_SIZE, num_workers=2 if variant == 'workers' else 0)
        return (len(batch['x']) for batch in loader)
    serve(NAME + (', two workers' if variant == 'workers' else ''), first_epochs(directory, epoch))


def write_case(case, scratch):
    words = case.split(', ')
    size = {'1 KiB': 1024, '64 B': 64}[words[1]]
    compression = words[2] if len(words) > 2 else None
    samples = 100_000 if size == 1024 else 300_000
    with open(os.path.join(os.path.dirname(scratch), 'payload'), 'rb') as f:
        payload = f.read()

    def work():
        out = scratch + '/dataset'
        shutil.rmtree(out, ignore_errors=True)
        with MDSWriter(columns={'x': 'bytes'}, out=out, compression=compression) as writer:
            for i in range(samples):
                at = i * size % (len(payload) - size)
                writer.write({'x': payload[at:at + size]})
        return samples
    serve(NAME, work)


def order_case(case):
    """The shuffle alone, without dealing it to ranks. The first ids are there when all are."""
    words = case.split(', ')
    if not words[0].startswith('py1e'):
        return
    samples, shards, canonical_nodes = (int(float(word.split()[0])) for word in words[1:3] + [words[3].split()[1]])
    if samples > 10**8:
        return
    sizes = np.full(shards, samples // shards, np.int64)
    block = max(4_000_000 // canonical_nodes, 262_144)

    def work():
        get_shuffle('py1e', sizes, canonical_nodes, 9176, 0, block)
        return samples if 'all ids' in case else 1
    serve(NAME, work)


def main():
    bench, case, directory = sys.argv[1:4]
    variant = sys.argv[4] if len(sys.argv) > 4 else ''
    iterates = bench == 'loader' and case.startswith('iteration')
    if variant and not iterates and not (variant == 'workers' and bench == 'epoch'):
        return
    # Beside the data, so that its files can be linked.
    with tempfile.TemporaryDirectory(dir=directory if bench == 'order' else os.path.dirname(directory)) as scratch:
        if bench == 'loader':
            loader_case(case, directory, variant, scratch)
        elif bench == 'epoch':
            first_epoch(directory, variant)
        elif bench == 'write':
            write_case(case, scratch)
        elif bench == 'order':
            order_case(case)


if __name__ == '__main__':
    main()
