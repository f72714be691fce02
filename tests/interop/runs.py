#!/usr/bin/env python3
"""Runs that begin with MosaicML Streaming and go on with mdstream's command line, and the other way round.

Both have to read the same samples in the same order as a run that was never stopped, from each other's saved states.
Usage: runs.py MDSTREAM [--cases N], MDSTREAM being the command line; MDSTREAM_TEST_SEED repeats a run.
"""
from seed import seed  # first: it prints the seed

import argparse
import json
import logging
import os
import random
import subprocess
import sys
import tempfile
import warnings

warnings.simplefilter('ignore')
logging.disable(logging.WARNING)

from streaming import MDSWriter, StreamingDataset
from streaming.base.util import clean_stale_shared_memory

from alone import alone


def write_dataset(folder, samples, shard_samples):
    with MDSWriter(out=folder, columns={'id': 'int'}, size_limit=shard_samples * 16 + 200) as writer:
        for i in range(samples):
            writer.write({'id': i})


def random_case(rng):
    algorithm = rng.choice(['naive', 'py1s', 'py2s', 'py1br', 'py1e'])
    return {
        'samples': rng.randrange(200, 3000),
        'shard_samples': rng.randrange(5, 200),
        'epochs': rng.randrange(1, 4),
        'options': {
            'batch_size': rng.choice([1, 4, 7, 16]),
            'shuffle': rng.random() < .9,
            'shuffle_algo': algorithm,
            'shuffle_seed': rng.randrange(2**31),
            'shuffle_block_size': rng.choice([100, 1000, 1 << 18]),
            'num_canonical_nodes': rng.choice([1, 2, 4]),
        },
    }


def by_python(local, options, epochs, batches, state):
    """Batches of so many epochs from `state` on, at most so many, and the state behind them."""
    clean_stale_shared_memory()
    dataset = StreamingDataset(local=local, **options)
    if state is not None:
        dataset.load_state_dict(json.loads(state))
    size, out, epoch_samples = options['batch_size'], [], 0
    while len(out) < batches and dataset.next_epoch < epochs:
        ids, epoch_samples = iter(dataset), 0
        while len(out) < batches:
            batch = []
            for sample in ids:
                batch.append(int(sample['id']))
                if len(batch) == size:
                    break
            if not batch:
                break
            out.append(batch)
            epoch_samples += len(batch)
    state = json.dumps(dataset.state_dict(epoch_samples, from_beginning=False))
    # Its threads would look for shards after the folder is gone.
    dataset._iterator.exit()
    dataset._executor.shutdown(wait=True)
    return out, state


def by_mdstream(program, local, options, epochs, batches, state, folder):
    config, saved = os.path.join(folder, 'config.json'), os.path.join(folder, 'saved.json')
    with open(config, 'w') as f:
        json.dump({'local': local, 'epochs': epochs, **options}, f)
    command = [program, 'stream', '--config', config, '--save-state', saved, '--batches', str(batches)]
    if state is not None:
        given = os.path.join(folder, 'given.json')
        with open(given, 'w') as f:
            f.write(state)
        command += ['--state', given]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    out = [json.loads(line)['ids'] for line in lines if '"ids"' in line]
    with open(saved) as f:
        return out, f.read()


def check(what, got, expected):
    for i, (a, b) in enumerate(zip(got, expected)):
        if a != b:
            raise AssertionError(f'{what}: batch {i}: {a} instead of {b}')
    if len(got) != len(expected):
        raise AssertionError(f'{what}: {len(got)} batches instead of {len(expected)}')


def run(program, case, rng, folder):
    """Whether the run was long enough to be cut in three."""
    local = os.path.join(folder, 'dataset')
    write_dataset(local, case['samples'], case['shard_samples'])
    options, epochs = case['options'], case['epochs']
    whole, _ = by_python(local, options, epochs, 10**9, None)
    ours, _ = by_mdstream(program, local, options, epochs, 10**9, None, folder)
    check('all epochs', ours, whole)
    if len(whole) < 4:
        return False
    first = rng.randrange(1, len(whole) - 2)
    second = rng.randrange(1, len(whole) - first)
    # Python, mdstream, Python.
    a, state = by_python(local, options, epochs, first, None)
    b, state = by_mdstream(program, local, options, epochs, second, state, folder)
    c, _ = by_python(local, options, epochs, 10**9, state)
    check('Python, mdstream, Python', a + b + c, whole)
    # mdstream, Python, mdstream.
    a, state = by_mdstream(program, local, options, epochs, first, None, folder)
    b, state = by_python(local, options, epochs, second, state)
    c, _ = by_mdstream(program, local, options, epochs, 10**9, state, folder)
    check('mdstream, Python, mdstream', a + b + c, whole)
    return True


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument('mdstream')
    arguments.add_argument('--cases', type=int, default=6)
    args = arguments.parse_args()
    rng = random.Random(seed)
    with alone():
        cut = 0
        while cut < args.cases:
            case = random_case(rng)
            with tempfile.TemporaryDirectory() as folder:
                try:
                    cut += run(args.mdstream, case, rng, folder)
                except AssertionError as e:
                    sys.exit(f'after {cut} runs of seed {seed}: {case}: {e}')
    print(f'{args.cases} runs agree')


if __name__ == '__main__':
    main()
