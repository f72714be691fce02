#!/usr/bin/env python3
"""Asks MosaicML Streaming and NumPy again for every golden vector, and names those that they answer differently today.

    tools/install-mosaic.sh && /opt/peers/mosaic/bin/python tests/golden/reference.py [--write] [NAME...]

NAME is a file without its .json, or `mds` for the datasets; all by default. A case is what goes in and what has to come out of the
reference: write the former into the file, and --write fills in the latter. It changes no other case, so that a golden
vector never follows a new version silently. README.md beside this file says what the fields mean.
"""
import argparse
import base64
import collections.abc
import contextlib
import decimal
import json
import logging
import os
import pathlib
import shutil
import struct
import sys
import tempfile
import warnings

warnings.simplefilter('ignore')
logging.disable(logging.WARNING)

import numpy as np
import streaming
import streaming.base.dataset as streaming_dataset
from PIL import Image
from streaming import MDSWriter, Stream, StreamingDataLoader, StreamingDataset
from streaming.base.batching import generate_work
from streaming.base.format.mds import encodings
from streaming.base.partition import get_partitions
from streaming.base.sampling import get_sampling
from streaming.base.shuffle import get_shuffle
from streaming.base.util import bytes_to_int, clean_stale_shared_memory, number_abbrev_to_int
from streaming.base.world import World

golden = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(golden.parent / 'interop'))
from alone import alone
from formats import check_written, read_python, typed, without_notes, write_python


# How values are written down.

def whole(x):
    """An integer; of 53 bits and more, as text."""
    x = int(x)
    return x if abs(x) < 2**53 else str(x)


def bits(x):
    """A double by its bits. Every NaN is the same."""
    return struct.pack('>d', x).hex() if x == x else '7ff8000000000000'


def real(text):
    return struct.unpack('>d', bytes.fromhex(text))[0]


def fnv(array):
    value = 0xcbf29ce484222325
    for byte in np.ascontiguousarray(array).tobytes():
        value = (value ^ byte) * 0x100000001b3 & 2**64 - 1
    return f'{value:016x}'


def ids(array, case, size='n'):
    """Few ids in full; many, and those of a case that has it so, as number, hash and head."""
    array = np.asarray(array, np.int64).ravel()
    if 'hash' in case or ('ids' not in case and len(array) > 100):
        return {size: len(array), 'hash': fnv(array), 'head': array[:6].tolist()}
    return {'ids': array.tolist()}


def refusal(error):
    return {'error': {'type': type(error).__name__, 'msg': str(error)[:160]}}


def untyped(value):
    """The Python value of a typed one (see README.md)."""
    kind, v = value['t'], value.get('v')
    if kind in ('str', 'bool'):
        return v
    if kind == 'int':
        return int(v)
    if kind == 'float':
        return real(value['bits'])
    if kind == 'decimal':
        return decimal.Decimal(v)
    if kind == 'bytes':
        return base64.b64decode(value['b64'])
    if kind == 'json':
        return json.loads(value['text'])
    if kind == 'list':
        return [untyped(x) for x in v]
    if kind == 'dict':
        return {untyped(a): untyped(b) for a, b in v}
    if kind == 'null':
        return None
    if kind == 'lone-surrogate':
        return '\ud800'
    if kind == 'ndarray':
        return np.frombuffer(base64.b64decode(value['b64']), value['dtype']).reshape(value['shape'])
    if kind == 'image':
        return Image.frombytes(value['mode'], value['size'], base64.b64decode(value['raw_b64']))
    if 'bits' in value:  # NumPy's floats
        return np.frombuffer(bytes.fromhex(value['bits'])[::-1], kind)[0]
    return np.dtype(kind).type(int(v))


# What the reference answers. Each function takes a case and the file that it stands in, and returns what has to come out.

def raw(case, file):
    seed = int(case['seed'])
    state = np.random.default_rng(seed).bit_generator.state['state']
    return {'state': f"{state['state']:032x}", 'inc': f"{state['inc']:032x}",
            'next64': [f'{int(x):016x}' for x in np.random.default_rng(seed).bit_generator.random_raw(6)],
            'random': [bits(x) for x in np.random.default_rng(seed).random(4)],
            'pool': [f'{int(x):08x}' for x in np.random.SeedSequence(seed).pool]}


class Draws(collections.abc.MutableSequence):
    """A list too large for any memory, which notes the places that shuffling it draws and ends it after so many."""

    def __init__(self, pop, most):
        self.pop, self.most, self.drawn = pop, most, []

    def __len__(self):
        return self.pop

    def __getitem__(self, i):
        self.drawn.append(i)

    def __setitem__(self, i, value):
        if len(self.drawn) == 2 * self.most:
            raise StopIteration

    def __delitem__(self, i):
        raise NotImplementedError

    insert = __delitem__


def perform(rng, op):
    name, n = op['op'], op.get('n')
    low, high = op.get('low'), op.get('high')
    if name == 'integers':
        return rng.integers(int(low), int(high))
    if name == 'integers_n':
        return rng.integers(int(low), int(high), n)
    if name == 'uniform':
        return rng.uniform(real(low), real(high), n)
    if name == 'random':
        return rng.random(n)
    if name == 'permutation':
        return rng.permutation(n)
    if name == 'choice':
        return rng.choice(int(op['pop']), n, False)
    if name == 'shuffle':
        array = np.arange(n)
        out = {'list': array.tolist(), 'int64': array, 'rows': np.stack([array, array], axis=1)}[op['kind']]
        rng.shuffle(out)
        return np.array(out)[:, 0] if op['kind'] == 'rows' else np.array(out, np.int64)
    if name == 'shuffle_begins':
        items = Draws(int(op['pop']), n)
        with contextlib.suppress(StopIteration):
            rng.shuffle(items)
        return np.array(items.drawn[::2], np.int64)  # each item is swapped with the one drawn: that is read first
    raise ValueError(f'no operation {name}')


def drawn(out):
    if np.ndim(out) == 0:
        return whole(out)
    return [bits(x) if out.dtype == np.float64 else whole(x) for x in out]


def sequences(case, file):
    rng = np.random.default_rng(int(case['seed']))
    ops = [{**op, 'out': drawn(perform(rng, op))} for op in case['ops']]
    end = rng.bit_generator.state
    return {'ops': ops, 'end': {'state': f"{end['state']['state']:032x}", 'has_uint32': end['has_uint32'],
                                'uinteger': end['uinteger'] if end['has_uint32'] else 0}}


def large(case, file):
    return {'hash': fnv(perform(np.random.default_rng(int(case['seed'])), case))}


def argsort(case, file):
    keys = np.array([real(x) for x in case['v']])
    return {'ties': len(set(keys)) < len(keys), 'out': np.argsort(keys).tolist()}


def sizes_of(value, run_lengths):
    return np.array([size for size, count in value for _ in range(count)] if run_lengths else value, np.int64)


def shuffle(case, file):
    name = case['shards']
    return ids(get_shuffle(case['algo'], sizes_of(file['shards'][name], name in file['rle']), case['ncn'], case['seed'],
                           case['epoch'], case['block_size']), case)


def partition(case, file):
    out = get_partitions(case['algo'], case['n'], case['ncn'], case['pn'], case['rpn'], case['wpr'], case['bs'],
                         case['drop'], case['ipn'])
    return {'shape': list(out.shape), **ids(out, case, 'size')}


def sampling(case, file):
    sizes = sizes_of(case['sizes_rle'], True) if 'sizes_rle' in case else sizes_of(case['sizes'], False)
    out = get_sampling(sizes, case['choose'], case['granularity'], case['seed'], case['epoch'], case['use_epoch'])
    return {**ids(out, case), 'sum': int(out.sum())}


def weights(case, file):
    streams = [Stream(local='unused', **weight) for weight in case['weights']]
    epoch_size = Stream.apply_weights(streams, np.array(case['samples'], np.int64), case['epoch_size'], case['seed'])
    return {'out': {'epoch_size': whole(epoch_size), 'choose': [whole(s.choose) for s in streams],
                    'proportion': [bits(s.proportion) for s in streams], 'repeat': [bits(s.repeat) for s in streams]}}


class SavedState:
    """In place of the shared memory in which a dataset looks for the state to go on from."""

    def __init__(self, state):
        self.buf = json.dumps(state).encode()


def dataset_of(case):
    """A StreamingDataset of shards that only have sizes: what its constructor sets that the order depends on."""
    dataset = StreamingDataset.__new__(StreamingDataset)
    dataset.streams = [Stream(local='unused', **stream.get('weight', {})) for stream in case['streams']]
    sizes = [stream['shards'] for stream in case['streams']]
    dataset.num_streams = len(sizes)
    dataset.samples_per_stream = np.array([sum(s) for s in sizes], np.int64)
    dataset.shards_per_stream = np.array([len(s) for s in sizes], np.int64)
    dataset.shard_offset_per_stream = dataset.shards_per_stream.cumsum() - dataset.shards_per_stream
    dataset.samples_per_shard = np.concatenate(sizes).astype(np.int64)
    dataset.sample_offset_per_shard = dataset.samples_per_shard.cumsum() - dataset.samples_per_shard
    dataset.sampling_method, dataset.sampling_granularity = case['sampling_method'], case['granularity']
    dataset.partition_algo, dataset.num_canonical_nodes = case['partition_algo'], case['ncn']
    dataset.batch_size, dataset.batching_method = case['batch_size'], case['batching']
    dataset.shuffle, dataset.shuffle_algo, dataset.shuffle_seed = case['shuffle'], case['shuffle_algo'], case['seed']
    dataset.shuffle_block_size, dataset.initial_physical_nodes = case['block_size'], None
    dataset.epoch_seed_change = dataset.shuffle and dataset.sampling_method == 'balanced'
    dataset._shm_prefix_int = 0
    epoch_size = number_abbrev_to_int(case['epoch_size']) if case['epoch_size'] else None
    dataset.epoch_size = Stream.apply_weights(dataset.streams, dataset.samples_per_stream, epoch_size, dataset.shuffle_seed)
    return dataset


def work_of(case):
    """The dataset of a case that lacks nothing, and the ids of its epoch: nodes, ranks, workers, batches, samples."""
    world = World(*case['world'], 0)
    if case['replication'] is not None:
        world = world.replicate(case['replication'])
    dataset, state = dataset_of(case), None
    if case['resume']:
        state = {'epoch': case['epoch'], 'sample_in_epoch': case['resume']['sample_in_epoch'],
                 'num_canonical_nodes': case['resume']['ncn'], 'shuffle_seed': case['resume']['seed'],
                 'initial_physical_nodes': case['resume']['ipn']}

    def saved(name, create):
        if state is None:
            raise FileNotFoundError(name)
        return SavedState(state)

    shared_memory, streaming_dataset.SharedMemory = streaming_dataset.SharedMemory, saved
    try:
        epoch, sample = dataset._resume(world, case['epoch'])
    finally:
        streaming_dataset.SharedMemory = shared_memory
    return dataset, generate_work(case['batching'], dataset, world, epoch, sample)


def epochs(case, file):
    recorded = case.get('out', {})
    dataset, work = work_of({**file['defaults'], **case})
    ties = {'argsort_ties': True} if recorded.get('argsort_ties') else {}
    return {'out': {'ncn_eff': dataset.num_canonical_nodes, 'block_size_eff': dataset.shuffle_block_size,
                    'epoch_size_eff': dataset.epoch_size, 'shape': list(work.shape), **ids(work, recorded), **ties}}


def world(case, file):
    nodes, ranks, workers = case['num_nodes'], case['ranks_per_node'], case['workers_per_rank']
    rows = []
    for worker in range(nodes * ranks * workers):
        unique = World(nodes, ranks, workers, worker)
        parallel = unique.copy() if case['replication'] is None else unique.replicate(case['replication'])
        columns = (column.split('.') for column in file['columns'])
        rows.append([int(getattr({'u': unique, 'p': parallel}[which], name)) for which, name in columns])
    return {'workers': rows}


def util(case, file):
    out = {}
    for function in (bytes_to_int, number_abbrev_to_int):
        try:
            out[function.__name__] = whole(function(case['in']))
        except Exception as error:
            out[function.__name__] = refusal(error)
    return out


def write_ids(folder, shards, first, compression=None):
    """An MDS dataset of shards of these sizes, whose samples are numbered from `first`."""
    with MDSWriter(out=folder, columns={'id': 'int'}, size_limit=None, compression=compression) as writer:
        for samples in shards:
            if writer.new_samples:
                writer.flush_shard()
                writer._reset_cache()
            for sample in range(first, first + samples):
                writer.write({'id': sample})
            first += samples
    return first


def resume(case, file):
    with tempfile.TemporaryDirectory() as folder:
        first = 0
        locals_ = [os.path.join(folder, str(i)) for i in range(len(case['streams']))]
        for local, stream in zip(locals_, case['streams']):
            first = write_ids(local, stream['shards'], first)

        def construct():
            clean_stale_shared_memory()
            dataset = StreamingDataset(streams=[Stream(local=local) for local in locals_], **case['kwargs'])
            return dataset, StreamingDataLoader(dataset, batch_size=case['kwargs']['batch_size'],
                                                num_workers=case['dataloader_workers'])

        dataset = loader = noted = None
        steps = []
        for step in case['steps']:
            do, out = step['do'], {}
            if do == 'construct':
                dataset, loader = construct()
                out = {'len': len(dataset), 'size': dataset.size, 'epoch_size': dataset.epoch_size}
            elif do == 'construct_and_load':
                del dataset, loader
                dataset, loader = construct()
                loader.load_state_dict(step['state'])
            elif do == 'load':
                loader.load_state_dict(step['state'])
            elif do == 'state_dict':
                out = {'out': loader.state_dict()}
            elif do == 'note_state_after_2_batches':
                noted = len(steps)
            else:
                batches, iterator = [], iter(loader)
                while do == 'epoch' or len(batches) < step['take']:
                    batch = next(iterator, None)
                    if batch is None:
                        break
                    batches.append([int(x) for x in batch['id']])
                    if noted is not None and len(batches) == 2:
                        steps[noted]['out'] = loader.state_dict()
                        noted = None
                del iterator
                out = {'batches': batches}
            steps.append({**step, **out})
        del dataset, loader
        return {'steps': steps}


def simulator(case, file):
    from simulation.core.create_index import create_stream_index
    from simulation.core.main import simulate
    from simulation.core.sim_dataset import SimulationDataset
    from simulation.core.sim_time import Time
    from simulation.core.utils import get_rolling_avg_throughput, get_simulation_stats

    given = dict(case['in'])
    time_per_sample, bandwidth, duration = (given.pop(k) for k in ('time_per_sample', 'bandwidth', 'max_duration'))
    with tempfile.TemporaryDirectory() as folder:
        before = os.getcwd()
        os.chdir(folder)  # where create_stream_index writes
        try:
            folders = [os.path.dirname(create_stream_index(**stream)) for stream in case['streams']]
            dataset = SimulationDataset(streams=[Stream(local=each) for each in folders], **given)
        finally:
            os.chdir(before)
    times, downloads, _, cache_limit = next(simulate(dataset, time_per_sample, bandwidth, Time.from_timestring(duration)))
    out = {'batches_per_epoch': dataset.get_num_batches(), 'step_times': [bits(x) for x in times],
           'step_downloads': [whole(x) for x in downloads], 'min_cache_limit': whole(cache_limit)}
    if 'out' not in case or 'stats' in case['out']:
        drops, warmup, step, later = get_simulation_stats(times, time_per_sample, given['batch_size'])
        out['stats'] = {'throughput_drops': drops, 'warmup_time': bits(warmup), 'warmup_step': step, 'post_warmup_drops': later}
        out['rolling_last'] = bits(get_rolling_avg_throughput(times)[-1])
    return {'out': out}


def shuffle_quality(case, file):
    from simulation.core.shuffle_quality import analyze_shuffle_quality_entropy

    return {'quality': analyze_shuffle_quality_entropy(case['algo'], *case['args'])[1]}


def names(case, file):
    valid = encodings.is_mds_encoding(case['name'])
    return {'valid': valid, **({'size': encodings.get_mds_encoded_size(case['name'])} if valid else {})}


def encode(case, file):
    return {'hex': encodings.mds_encode(case['encoding'], untyped(case['value'])).hex()}


def decode(case, file):
    return {'value': typed(encodings.mds_decode(case['encoding'], bytes.fromhex(case['hex'])), case['encoding'])}


# The lists of cases of each file, and who answers them.
answers = {
    'rng': {'raw': raw, 'sequences': sequences, 'large': large, 'argsort': argsort},
    'shuffle': {'cases': shuffle}, 'partition': {'cases': partition}, 'sampling': {'cases': sampling},
    'weights': {'cases': weights}, 'epochs': {'cases': epochs}, 'world': {'cases': world}, 'util': {'sizes': util},
    'resume': {'cases': resume}, 'simulator': {'cases': simulator, 'shuffle_quality': shuffle_quality},
    'encodings': {'names': names, 'encode': encode, 'decode': decode},
}


def same(recorded, asked):
    """Errors are told apart by their types; their words, and notes on values, may change."""
    if isinstance(recorded, dict) and isinstance(asked, dict):
        if 'error' in recorded or 'error' in asked:
            return 'error' in recorded and 'error' in asked and recorded['error']['type'] == asked['error']['type']
        recorded, asked = without_notes(recorded), without_notes(asked)
        return recorded.keys() == asked.keys() and all(same(recorded[k], asked[k]) for k in recorded)
    if isinstance(recorded, list) and isinstance(asked, list):
        return len(recorded) == len(asked) and all(map(same, recorded, asked))
    if isinstance(recorded, float):
        return abs(recorded - asked) <= 1e-9 * abs(recorded)
    return recorded == asked


def is_answered(kind, case):
    """Whether a case has more than what goes in."""
    outputs = {'raw': 'state', 'sequences': 'end', 'large': 'hash', 'argsort': 'out', 'shuffle': 'ids', 'partition': 'shape',
               'sampling': 'sum', 'weights': 'out', 'epochs': 'out', 'world': 'workers', 'util': 'bytes_to_int',
               'simulator': 'out', 'shuffle_quality': 'quality', 'names': 'valid', 'encode': 'hex', 'decode': 'value'}
    if kind == 'resume':
        return 'len' in case['steps'][0]
    return any(key in case for key in (outputs[kind], 'error', 'hash'))


def text_of(file):
    """One case a line."""
    def compact(value):
        return json.dumps(value, separators=(',', ':'))

    def value_of(value):
        if isinstance(value, list) and value and isinstance(value[0], dict):
            return '[\n' + ',\n'.join(map(compact, value)) + '\n]'
        return compact(value)

    return '{\n' + ',\n'.join(f'{compact(key)}:{value_of(value)}' for key, value in file.items()) + '\n}\n'


def ask_file(name, write):
    """Returns how many cases the file has, and a line for each that the reference answers differently."""
    path = golden / f'{name}.json'
    file = json.loads(path.read_text(encoding='utf-8'))
    count, differing, filled = 0, [], 0
    for key, answer in answers[name].items():
        for number, case in enumerate(file[key]):
            count += 1
            try:
                asked = answer(case, file)
            except Exception as error:  # whatever the reference throws is its answer
                asked = refusal(error)
            if not is_answered(answer.__name__, case):
                if write:
                    file[key][number] = {**case, **asked}
                    filled += 1
                else:
                    differing.append(f'{name}.json {key}[{number}] has no answer: --write fills it in')
                continue
            recorded = {'error': case['error']} if 'error' in case else {k: case[k] for k in asked if k in case}
            if not same(recorded, asked):
                ties = ' (equal keys, whose order is the processor\'s)' if case.get('out', {}).get('argsort_ties') else ''
                error = ': ' + str(asked['error']) if 'error' in asked else ''
                differing.append(f'{name}.json {key}[{number}]{ties}{error}')
    if filled:
        path.write_text(text_of(file), encoding='utf-8')
        print(f'{name}.json: {filled} answers filled in')
    return count, differing


def ask_dataset(folder):
    """Writes a dataset again, where its inputs are kept, and reads it. Raises where it differs."""
    about = json.loads((folder / 'dataset.json').read_text(encoding='utf-8'))
    rows = json.loads((folder / 'samples.json').read_text(encoding='utf-8'))
    with tempfile.TemporaryDirectory() as work:
        data = shutil.copytree(folder / 'data', f'{work}/data')
        for split in sorted({row.get('split', '') for row in rows}) or ['']:
            got = read_python(os.path.join(data, split)) if split else read_python(data)
            expected = [without_notes(row['sample']) for row in rows if row.get('split', '') == split]
            if got != expected:
                raise AssertionError('is read differently')
        if 'inputs' not in about or 'note' in about:  # the note says why it cannot be rebuilt
            return
        options = about['writer_kwargs']
        inputs = [{name: untyped(value) for name, value in sample.items()} for sample in about['inputs']]
        write_python({'format': about['format'], 'columns': about['columns'], 'options': options}, inputs, f'{work}/again')
        check_written(data, f'{work}/again')


def ask_datasets():
    folders, differing = sorted((golden / 'mds').iterdir()), []
    for folder in folders:
        try:
            ask_dataset(folder)
        except Exception as error:
            differing.append(f'mds/{folder.name}: {type(error).__name__}: {error}')
    return len(folders), differing


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    arguments.add_argument('names', nargs='*', choices=[*answers, 'mds', []])
    arguments.add_argument('--write', action='store_true', help='fill in the answers of cases that have none')
    args = arguments.parse_args()
    print(f'asking MosaicML Streaming {streaming.__version__}, NumPy {np.__version__}', flush=True)
    differing = []
    with alone():
        for name in args.names or [*answers, 'mds']:
            count, lines = ask_datasets() if name == 'mds' else ask_file(name, args.write)
            print(f'{name}: {count - len(lines)} of {count} as recorded', flush=True)
            differing += lines
    for line in differing:
        print('differs:', line)
    sys.exit(any('equal keys' not in line for line in differing))


if __name__ == '__main__':
    main()
