"""The part of bench_format's writing cases that MosaicML Streaming does, for bench/run.sh --peers."""
import json
import logging
import os
import resource
import shutil
import statistics
import tempfile
import time
import warnings

warnings.simplefilter('ignore')
logging.disable(logging.WARNING)

from streaming import MDSWriter


def write(directory, size, samples, compression=None):
    shutil.rmtree(directory, ignore_errors=True)
    payload = os.urandom(1 << 20)
    with MDSWriter(columns={'x': 'bytes'}, out=directory, compression=compression) as out:
        for i in range(samples):
            at = i * size % (len(payload) - size)
            out.write({'x': payload[at:at + size]})


def main():
    with tempfile.TemporaryDirectory() as root:
        for name, size, samples, compression in (('write, 1 KiB', 1024, 100_000, None),
                                                 ('write, 64 B', 64, 300_000, None),
                                                 ('write, 1 KiB, zstd', 1024, 100_000, 'zstd')):
            rates, cpu = [], time.process_time()
            for _ in range(5):
                begin = time.perf_counter()
                write(root + '/dataset', size, samples, compression)
                rates.append(samples / (time.perf_counter() - begin))
            print(json.dumps({'bench': 'format', 'case': name, 'who': 'mosaicml-streaming',
                              'value': statistics.median(rates), 'unit': 'samples/s', 'min': min(rates),
                              'max': max(rates), 'cpu_s': (time.process_time() - cpu) / 5,
                              'rss_mb': resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}), flush=True)


if __name__ == '__main__':
    main()
