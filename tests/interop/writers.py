#!/usr/bin/env python3
"""Datasets of writers that were killed, of several processes, and kept on a local disk, read by MosaicML Streaming.

A resumed dataset has to be the one that an unharmed MDSWriter writes, byte by byte.
Usage: writers.py MDSTREAM, the command line.
"""
import glob
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import warnings

warnings.simplefilter('ignore')

from streaming import MDSWriter, StreamingDataset
from streaming.base.util import clean_stale_shared_memory

from alone import alone
from seed import seed

COLUMNS = {'id': 'int', 'text': 'str'}
program = sys.argv[1]


def samples(first, count):
    rng = random.Random(f'{seed} {first}')
    return [{'id': i, 'text': 'x' * rng.randrange(200)} for i in range(first, first + count)]


def command(out, *more):
    return [program, 'write', '--out', out, '--size-limit', '4000', *(f'--column={n}={e}' for n, e in COLUMNS.items()),
            *more]


def lines(rows):
    return ''.join(json.dumps(row) + '\n' for row in rows).encode()


def write(out, rows, *more):
    done = subprocess.run(command(out, *more), input=lines(rows), stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def killed_write(out, rows, directory, *more):
    """Ends it by SIGKILL when the first shards are stored, in whichever order; it waits for more lines then."""
    process = subprocess.Popen(command(out, *more), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    process.stdin.write(lines(rows))
    process.stdin.flush()
    for _ in range(6000):
        if all(glob.glob(f'{directory}/shard.{number:05}.*') for number in range(3)):
            break
        time.sleep(.01)
    else:
        raise AssertionError('no shards were stored')
    process.kill()
    assert process.wait() == -signal.SIGKILL
    process.stdin.close()
    assert not os.path.exists(directory + '/index.json')


def files(directory):
    """What a process that was killed in the middle of a write leaves besides is no file of the dataset."""
    found = {}
    for folder, _, names in os.walk(directory):
        for name in names:
            if name.startswith('.mdstream-'):
                continue
            with open(os.path.join(folder, name), 'rb') as f:
                found[os.path.relpath(os.path.join(folder, name), directory)] = f.read()
    return found


def read(directory):
    clean_stale_shared_memory()
    dataset = StreamingDataset(local=directory, batch_size=1, shuffle=False)
    return [{'id': int(dataset[i]['id']), 'text': dataset[i]['text']} for i in range(len(dataset))]


def check_resumed(work):
    for compression in ('', 'zstd:3', 'gz'):
        extra = ['--compression', compression] if compression else []
        rows, out = samples(0, 600), f'{work}/resumed{compression[:2]}'
        theirs = out + '-theirs'
        with MDSWriter(columns=COLUMNS, out=theirs, size_limit=4000, hashes=['xxh64'],
                       compression=compression or None) as w:
            for row in rows:
                w.write(row)
        killed_write(out, rows[:400], out, *extra)
        report = write(out, rows, '--existing', 'resume', *extra)
        assert report['kept_samples'] > 0 and report['kept_samples'] + report['samples'] == 600, report
        if not compression:
            assert files(out) == files(theirs)
        assert read(out) == rows
        print(f'{compression or "uncompressed"}: {report["kept_samples"]} samples kept, all read')


def check_parts(work):
    out = work + '/parts'
    rows = [samples(300 * i, 300) for i in range(3)]
    parts = ['--part', '1/3']
    killed_write(out, rows[1][:250], out + '/part-00001-of-00003', *parts)
    others = [(i, subprocess.Popen(command(out, '--part', f'{i}/3'), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL))
              for i in (0, 2)]
    for i, process in others:
        process.communicate(lines(rows[i]))
        assert process.returncode == 0
    assert not os.path.exists(out + '/index.json')
    report = write(out, rows[1], *parts, '--existing', 'resume')
    assert report['kept_samples'] > 0, report
    assert read(out) == rows[0] + rows[1] + rows[2]
    print('parts: one dataset')


def stream_from_copy(work, remote, kept):
    """A loader takes the copy for its cache: it fetches no shard. Returns its number of batches."""
    for folder, _, names in os.walk(remote):
        for name in names:
            if name.startswith('shard.'):
                os.remove(os.path.join(folder, name))
    config = work + '/config.json'
    with open(config, 'w') as f:
        json.dump({'streams': [{'remote': remote, 'local': kept}], 'batch_size': 10}, f)
    done = subprocess.run([program, 'stream', '--config', config], stdout=subprocess.PIPE, check=True)
    return len(done.stdout.splitlines())


def check_kept(work):
    for compression in ('', 'zstd:3', 'gz'):
        extra = ['--compression', compression] if compression else []
        remote, kept, rows = f'{work}/remote{compression[:2]}', f'{work}/kept{compression[:2]}', samples(0, 300)
        write(remote, rows, '--keep-local', kept, *extra)
        assert files(remote) == files(kept)
        assert read(kept) == rows
        assert stream_from_copy(work, remote, kept) >= 30
    # Copies of all parts on one disk: the whole index is at the remote alone.
    remote, kept = work + '/remote-parts', work + '/kept-parts'
    for part in range(2):
        write(remote, samples(300 * part, 300), '--part', f'{part}/2', '--keep-local', kept)
    assert not os.path.exists(kept + '/index.json')
    assert stream_from_copy(work, remote, kept) >= 60
    print('kept copies: read by both')


def main():
    with alone(), tempfile.TemporaryDirectory() as work:
        check_resumed(work)
        check_parts(work)
        check_kept(work)


if __name__ == '__main__':
    main()
