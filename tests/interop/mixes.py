#!/usr/bin/env python3
"""Random mixes of streams, read by MosaicML Streaming and by mdstream's command line, which have to read the same batches.

Live runs of one or two ranks and their DataLoader workers begin with one of the two, go on with the other in the middle of an epoch
and end with the first, after one to three epochs, in one cache directory for both. Runs of more nodes than a machine has are held
against the plan that the package makes for one of their epochs, and go on in another world. What one of the two refuses, the other has
to refuse, but for states of the end of an epoch, among the samples that canonical nodes repeat: there mdstream has to give the rest of
the epoch that it reads as a whole.
Usage: mixes.py MDSTREAM [--cases N], MDSTREAM being the command line; MDSTREAM_TEST_SEED repeats a run.
"""
from seed import seed  # first: it prints the seed

import argparse
import json
import logging
import multiprocessing
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from multiprocessing.connection import wait

warnings.simplefilter('ignore')
os.environ['PYTHONWARNINGS'] = 'ignore'  # of the process that cleans up behind those that are killed
logging.disable(logging.WARNING)

import torch.distributed
from streaming import Stream, StreamingDataLoader, StreamingDataset
from streaming.base.util import clean_stale_shared_memory

from alone import alone

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / 'golden'))
from reference import work_of, write_ids

TRIES = 10  # draws for each run that neither refuses
HANGS = 300  # seconds; ends what would hang


class Refused(Exception):
    pass


class OnlyTheirsRefuses(AssertionError):
    def __init__(self, why, ours):
        super().__init__(f'only MosaicML Streaming refuses: {why}')
        self.ours = ours


def random_weights(rng, streams):
    """For each stream none, or one of proportion, repeat and choose; proportions for all or for none."""
    if rng.random() < .4:
        return [{'proportion': rng.choice([1, .5, rng.random() + .01])} for _ in range(streams)]
    return [rng.choice([{}, {'repeat': rng.choice([.5, 1, 2.3])}, {'choose': rng.randrange(1, 120)}]) for _ in range(streams)]


BATCHINGS = ['random', 'stratified', 'per_stream', 'device_per_stream']
PARTITIONS = ['orig', 'relaxed', 'orig']  # three, to the batchings' four: of twelve cases each pair is one


def random_case(rng, number):
    """A case in the form of golden/epochs.json, in a world of one node and one rank. Its number says how it batches and partitions."""
    weights = random_weights(rng, rng.randrange(1, 4))
    relative = 'proportion' in weights[0] or not any(weights)
    return {
        'streams': [{'shards': [rng.randrange(1, 60) for _ in range(rng.randrange(1, 8))], 'weight': weight}
                    for weight in weights],
        'sampling_method': rng.choice(['balanced', 'fixed']),
        'granularity': rng.choice([1, 3, 64]),
        'partition_algo': PARTITIONS[number % len(PARTITIONS)],
        'ncn': rng.choice([None, 1, 2, 4, 6]),
        'batch_size': rng.choice([1, 2, 3, 4]),
        'shuffle': rng.random() < .8,
        'shuffle_algo': rng.choice(['naive', 'py1s', 'py2s', 'py1br', 'py1e']),
        'seed': rng.randrange(2**31),
        'block_size': rng.choice([None, 100, 300]),
        'epoch_size': rng.choice([None, 90]) if relative else None,
        'batching': BATCHINGS[number % len(BATCHINGS)],
        'world': [1, 1, 1], 'replication': None, 'epoch': 0, 'epochs': None, 'resume': None,
    }


def options_of(case):
    """StreamingDataset's arguments, which are also those of the command line."""
    return {'sampling_method': case['sampling_method'], 'sampling_granularity': case['granularity'],
            'partition_algo': case['partition_algo'], 'num_canonical_nodes': case['ncn'], 'batch_size': case['batch_size'],
            'shuffle': case['shuffle'], 'shuffle_algo': case['shuffle_algo'], 'shuffle_seed': case['seed'],
            'shuffle_block_size': case['block_size'], 'epoch_size': case['epoch_size'],
            'batching_method': case['batching'], 'replication': case['replication']}


def stream_arguments(case, folder):
    return [{'remote': f'{folder}/remote{i}', 'local': f'{folder}/cache{i}', **stream['weight']}
            for i, stream in enumerate(case['streams'])]


def write_streams(case, folder, rng):
    first = 0
    for i, stream in enumerate(case['streams']):
        first = write_ids(f'{folder}/remote{i}', stream['shards'], first, rng.choice([None, 'zstd', 'gz']))


def python_rank(pipe, folder, case, rank, batches, state):
    """In a process of its own: the batches of each epoch of a rank, and the state behind them."""
    os.setsid()  # so that its DataLoader's workers end with it
    ranks, workers = case['world'][1:]
    os.environ.update(WORLD_SIZE=str(ranks), LOCAL_WORLD_SIZE=str(ranks), RANK=str(rank), LOCAL_RANK=str(rank))
    try:
        if ranks > 1:
            torch.distributed.init_process_group('gloo', init_method=f'file://{folder}/meeting', rank=rank, world_size=ranks)
        dataset = StreamingDataset(streams=[Stream(**each) for each in stream_arguments(case, folder)], **options_of(case))
        # A DataLoader without workers reads as one worker.
        loader = StreamingDataLoader(dataset, batch_size=case['batch_size'], num_workers=0 if workers == 1 else workers)
        if state is not None:
            loader.load_state_dict(json.loads(state))
        out, left = [], batches
        while left != 0 and dataset.next_epoch < case['epochs']:
            out.append([])
            for batch in loader:
                out[-1].append(batch['id'].tolist())
                left = left and left - 1
                if left == 0:
                    break
        pipe.send((out, json.dumps(loader.state_dict())))
    except Exception as error:
        pipe.send(f'{type(error).__name__}: {error}')
    pipe.close()
    os._exit(0)  # its threads and workers may still be at the rest of the epoch


def by_python(case, folder, batches, state):
    """The batches of each epoch of each rank, at most so many of a rank, and the state behind them."""
    clean_stale_shared_memory()
    pathlib.Path(folder, 'meeting').unlink(missing_ok=True)
    context, ranks = multiprocessing.get_context('fork'), case['world'][1]
    processes, pipes, answers = [], [], {}
    for rank in range(ranks):
        receiver, sender = context.Pipe(duplex=False)
        processes.append(context.Process(target=python_rank, args=(sender, folder, case, rank, batches, state)))
        processes[-1].start()
        sender.close()
        pipes.append(receiver)
    try:
        while len(answers) < ranks:
            ready = wait([pipe for rank, pipe in enumerate(pipes) if rank not in answers], HANGS)
            if not ready:
                raise AssertionError('MosaicML Streaming hangs')
            for pipe in ready:
                answer = pipe.recv()
                if isinstance(answer, str):
                    raise Refused(answer)
                answers[pipes.index(pipe)] = answer
    finally:
        for process in processes:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:  # before it had a group
                process.kill()
            process.join()
    return [answers[rank][0] for rank in range(ranks)], answers[0][1]


def by_mdstream(program, case, folder, batches, state):
    nodes, ranks, workers = case['world']
    config, saved, given = (os.path.join(folder, name) for name in ('config.json', 'saved.json', 'given.json'))
    with open(config, 'w') as f:
        json.dump({'streams': stream_arguments(case, folder), 'num_workers': workers, 'epochs': case['epochs'],
                   **options_of(case)}, f)
    command = [program, 'stream', '--config', config, '--save-state', saved]
    if batches is not None:
        command += ['--batches', str(batches)]
    if state is not None:
        with open(given, 'w') as f:
            f.write(state)
        command += ['--state', given]
    out = []
    for rank in range(nodes * ranks):
        world = {'WORLD_SIZE': nodes * ranks, 'LOCAL_WORLD_SIZE': ranks, 'RANK': rank, 'LOCAL_RANK': rank % ranks}
        done = subprocess.run(command, capture_output=True, text=True, timeout=HANGS,
                              env={**os.environ, **{name: str(value) for name, value in world.items()}})
        if done.returncode < 0:
            raise AssertionError(f'mdstream died of signal {-done.returncode}: {done.stderr}')
        if done.returncode:
            raise Refused(done.stderr.strip())
        out.append([json.loads(line)['ids'] for line in done.stdout.splitlines() if '"ids"' in line])
    return out, pathlib.Path(saved).read_text() if os.path.exists(saved) else None


def check(what, got, expected):
    for rank, (ours, theirs) in enumerate(zip(got, expected, strict=True)):
        # A batch that is all padding is one of no ids, or none.
        ours, theirs = [b for b in ours if b], [b for b in theirs if b]
        if ours != theirs:
            first = next((i for i, (a, b) in enumerate(zip(ours, theirs)) if a != b), min(len(ours), len(theirs)))
            raise AssertionError(f'{what}: rank {rank}, batch {first} of {len(ours)} and {len(theirs)}: '
                                 f'{ours[first:first + 1]} instead of {theirs[first:first + 1]}')


def state_of(case, samples):
    """Behind so many samples of the epoch of a case that has canonical nodes."""
    return json.dumps({'epoch': case['epoch'], 'sample_in_epoch': samples, 'num_canonical_nodes': case['ncn'],
                       'shuffle_seed': case['seed'], 'initial_physical_nodes': case['resume']['ipn']})


def is_among_repeated(refusal, state, dealt):
    """Whether the package refuses a state behind the samples of an epoch, in which so many are dealt because some are repeated."""
    return 'Resuming further into the dataset' in refusal and json.loads(state)['sample_in_epoch'] <= dealt


def check_rest(program, case, folder, rest):
    """Holds the rest of an epoch against what one rank reads of all of it; the last global batch may repeat more, to fill the ranks.
    Returns how many are dealt at most."""
    had, rest = case['resume']['sample_in_epoch'], rest[::case['replication'] or 1]
    whole = sum(by_mdstream(program, {**case, 'world': [1, 1, 1], 'replication': None}, folder, None, state_of(case, 0))[0][0], [])
    size = case['batch_size'] * len(rest)
    for t in range(max(-(-(len(whole) - had) // size), *map(len, rest))):
        got = Counter(i for batches in rest for i in sum(batches[t:t + 1], []))
        expected = Counter(whole[had + t * size:][:size])
        if expected - got or (got != expected and had + (t + 1) * size <= len(whole)):
            raise AssertionError(f'the rest, batch {t}: {got} instead of {expected}')
    return len(whole) + size - 1


def whole_epochs(case, theirs, ours):
    """What both read, or None where both refuse."""
    answers, refusals = [], []
    for read in (theirs, ours):
        try:
            answers.append(read())
        except Refused as error:
            refusals.append((read, str(error)))
    if len(refusals) == 1:
        refused, why = refusals[0]
        if refused is theirs:
            raise OnlyTheirsRefuses(why, answers[0])
        raise AssertionError(f'only mdstream refuses: {why}')
    return answers or None


def joined(*parts):
    return [sum(batches, []) for batches in zip(*parts)]


def flat(ranks):
    """The batches of each rank, without their epochs."""
    return [sum(epochs, []) for epochs in ranks]


def run_live(program, case, rng, folder):
    """Returns whether both read the epochs."""
    case['world'] = [1, rng.choice([1, 2]), rng.choice([1, 1, 2, 3])]
    write_streams(case, folder, rng)
    case['epochs'] = rng.choice([1, 2, 3])
    answers = whole_epochs(case, lambda: by_python(case, folder, None, None)[0],
                           lambda: by_mdstream(program, case, folder, None, None)[0])
    if answers is None:
        return False
    epochs, ours = answers
    whole = flat(epochs)
    check('all epochs', ours, whole)
    dealt = sum(len(batch) for rank in epochs for batch in rank[0])
    cuts, begin = [], 0
    for lengths in zip(*(map(len, rank) for rank in epochs)):
        cuts += range(begin + 1, begin + min(lengths) - 1)  # two are left: of one, ranks may repeat other samples
        if min(lengths) != max(lengths):
            break  # the same number of batches leads ranks to other places of the next epoch
        begin += lengths[0]
    if len(cuts) < 2:
        return True
    first, second = sorted(rng.sample(cuts, 2))

    def ours_reads(batches, state):
        return by_mdstream(program, case, folder, batches, state)

    def theirs_reads(batches, state):
        try:
            read, behind = by_python(case, folder, batches, state)
            return flat(read), behind
        except Refused as error:
            if state is None or not is_among_repeated(str(error), state, dealt):
                raise
            return ours_reads(batches, state)
    programs = [theirs_reads, ours_reads]
    if rng.random() < .5:
        programs.reverse()
    begin, go_on = programs
    a, state = begin(first, None)
    b, state = go_on(second - first, state)
    c, _ = begin(None, state)
    check('begun, continued, ended', joined(a, b, c), whole)
    return True


def plan(case):
    """The batches of each rank of all nodes, as DataLoaders take them: from one worker after the other, without padding."""
    try:
        _, work = work_of(case)
    except Exception as error:
        raise Refused(f'{type(error).__name__}: {error}')
    nodes, ranks, workers, batches, _ = work.shape
    out = []
    for rank in range(case['world'][0] * case['world'][1]):
        rank //= case['replication'] or 1
        mine = work[rank // ranks, rank % ranks]
        out.append([[i for i in mine[worker, batch].tolist() if i >= 0] for batch in range(batches) for worker in range(workers)])
    return out


def run_planned(program, case, rng, folder):
    """A run of several nodes, and the same in the middle of it in another world. Returns whether both make a plan."""
    write_streams(case, folder, rng)
    ipn = rng.choice([1, 2, 3])
    case['ncn'] = case['ncn'] or ipn
    case['epoch'] = rng.randrange(3)
    read = 0
    for step in range(2):
        case['world'] = [rng.choice([1, 2, 3]), rng.choice([1, 2]), rng.choice([1, 2])]
        case['replication'] = rng.choice([None, None, 2])
        if step or case['epoch']:
            case['resume'] = {'ncn': case['ncn'], 'seed': case['seed'], 'ipn': ipn,
                              'sample_in_epoch': 12 * case['batch_size'] * rng.randrange(1, 3) if step else 0}
        state = case['resume'] and state_of(case, case['resume']['sample_in_epoch'])
        try:
            answers = whole_epochs(case, lambda: plan(case), lambda: by_mdstream(program, case, folder, None, state)[0])
        except OnlyTheirsRefuses as error:
            if not is_among_repeated(str(error), state, check_rest(program, case, folder, error.ours)):
                raise
            answers = None
        if answers is not None:
            check('plan', answers[1], answers[0])
            read += 1
    return read == 2


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument('mdstream')
    arguments.add_argument('--cases', type=int, default=10, help='runs of each kind that both read')
    args = arguments.parse_args()
    rng = random.Random(seed)
    with alone():
        for run in (run_live, run_planned):
            agreed = draws = 0
            while agreed < args.cases:
                if draws == TRIES * args.cases:
                    sys.exit(f'{run.__name__}: only {agreed} of {draws} draws are read, seed {seed}')
                draws += 1
                case = random_case(rng, agreed)
                with tempfile.TemporaryDirectory() as folder:
                    try:
                        agreed += run(args.mdstream, case, rng, folder)
                    except (AssertionError, Refused) as error:
                        sys.exit(f'{run.__name__}, draw {draws} of seed {seed}: {case}: {type(error).__name__}: {error}')
            print(f'{run.__name__}: {agreed} agree, {draws - agreed} are refused by both', flush=True)


if __name__ == '__main__':
    main()
