#!/usr/bin/env python3
"""Other libraries as peers: `others.py BENCH CASE DIRECTORY WHO`; see turns.py. WHO: litdata, webdataset, mlx-data.

Each has the samples in its own format, written once beside the dataset, and gives batches of 32 (256 of files) in its own shuffled order.
"""
import os
import shutil
import sys
import warnings

warnings.simplefilter('ignore')

import numpy as np

from epochs import BATCH_SIZE, first_epochs
from samples import rows
from turns import endless, for_a_second, serve


def batch_size(case):
    return 256 if 'JPEG' in case else BATCH_SIZE


def prepared(directory, who, write):
    """The directory of a format, written if it is not there yet."""
    out = f'{directory}-{who}'
    if not os.path.exists(out):
        shutil.rmtree(out + '.part', ignore_errors=True)
        os.makedirs(out + '.part')
        write(out + '.part')
        os.rename(out + '.part', out)
    return out


def named_dtypes():
    import torch
    for name in ('uint16', 'uint32', 'uint64'):  # named by litdata, absent from older torch, not used here
        if not hasattr(torch, name):
            setattr(torch, name, object())


def litdata_form(directory):
    """The samples in litdata's format: the directory."""
    from litdata.streaming.writer import BinaryWriter

    def write(out):
        writer = BinaryWriter(out, chunk_bytes=1 << 26)
        for i, row in enumerate(rows(directory)):
            writer[i] = row.tobytes()
        writer.done()
        writer.merge(1)
    return prepared(directory, 'litdata', write)


def litdata_first_epoch(directory):
    named_dtypes()
    where = litdata_form(directory)
    from litdata import StreamingDataLoader, StreamingDataset

    def epoch(url, cache):
        os.makedirs(cache)
        endpoint = {'endpoint_url': os.environ['MDSTREAM_BENCH_URL']}
        dataset = StreamingDataset(url, cache_dir=cache, shuffle=True, storage_options=endpoint)
        return map(len, StreamingDataLoader(dataset, batch_size=BATCH_SIZE, num_workers=0, prefetch_factor=2))
    return first_epochs(where, epoch)


def litdata(case, directory):
    named_dtypes()
    from litdata import StreamingDataLoader, StreamingDataset
    where = litdata_form(directory)
    if case.startswith('random access'):
        dataset = StreamingDataset(where)
        order = np.random.default_rng(7).permutation(len(dataset)).tolist()
        return for_a_second(endless(lambda: (1 if dataset[i] is not None else 0 for i in order)))
    dataset = StreamingDataset(where, shuffle=True)
    # 2 is what older torch takes for "not given"
    loader = StreamingDataLoader(dataset, batch_size=batch_size(case), num_workers=0, prefetch_factor=2)
    return for_a_second(endless(lambda: map(len, loader)))


def webdataset(case, directory):
    import webdataset as wds
    if not case.startswith('iteration'):
        return None

    def write(out):
        with wds.ShardWriter(out + '/%05d.tar', maxcount=1 << 17, maxsize=1 << 26, verbose=0) as writer:
            for i, row in enumerate(rows(directory)):
                writer.write({'__key__': '%08d' % i, 'x': row.tobytes()})
    where = prepared(directory, 'webdataset', write)
    urls = sorted(os.path.join(where, name) for name in os.listdir(where))
    dataset = wds.WebDataset(urls, shardshuffle=len(urls)).shuffle(10_000).to_tuple('x').batched(batch_size(case))
    return for_a_second(endless(lambda: (len(batch[0]) for batch in dataset)))


def mlx_data(case, directory):
    import mlx.data
    if not case.startswith('iteration') or 'JPEG' in case:  # it pads what it batches
        return None
    # It has no format of its own: the samples are in memory.
    buffer = mlx.data.buffer_from_vector([{'x': row} for row in rows(directory)])
    return for_a_second(endless(lambda: (len(b['x']) for b in buffer.shuffle().to_stream().batch(batch_size(case)))))


def main():
    bench, case, directory, who = sys.argv[1:5]
    if bench == 'epoch' and who == 'litdata':
        serve(who, litdata_first_epoch(directory))
    if bench != 'loader':
        return
    work = {'litdata': litdata, 'webdataset': webdataset, 'mlx-data': mlx_data}[who](case, directory)
    if work is not None:
        serve(who, work)


if __name__ == '__main__':
    main()
