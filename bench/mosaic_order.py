"""The part of bench_order that MosaicML Streaming does, for bench/run.sh --peers: the shuffle alone, without dealing."""
import json
import resource
import statistics
import sys
import time

import numpy as np
from streaming.base.shuffle import get_shuffle

CASES = [('1e8 samples, 1e5 shards', 10**8, 10**5, 1), ('1e8 samples, 1e5 shards', 10**8, 10**5, 8),
         ('1e7 samples, 1e6 shards', 10**7, 10**6, 1)]


def main():
    turns = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    for name, samples, shards, canonical_nodes in CASES:
        sizes = np.full(shards, samples // shards, np.int64)
        block = max(4_000_000 // canonical_nodes, 262_144)
        seconds, cpu = [], time.process_time()
        for _ in range(turns):
            begin = time.perf_counter()
            get_shuffle('py1e', sizes, canonical_nodes, 9176, 0, block)
            seconds.append(time.perf_counter() - begin)
        cpu = (time.process_time() - cpu) / turns
        for what, unit, units in (('all ids', 'ids/s', samples), ('first ids', '1/s', 1)):
            rates = [units / s for s in seconds]
            print(json.dumps({'bench': 'order', 'case': f'py1e {what}, {name}, NCN {canonical_nodes}',
                              'who': 'mosaicml-streaming', 'value': statistics.median(rates), 'unit': unit,
                              'min': min(rates), 'max': max(rates), 'cpu_s': cpu,
                              'rss_mb': resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}), flush=True)


if __name__ == '__main__':
    main()
