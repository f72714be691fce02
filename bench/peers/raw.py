#!/usr/bin/env python3
"""Libraries that read files as they are: `raw.py raw CASE DIRECTORY WHO`; see turns.py. WHO: pyarrow, datasets,
litdata, webdataset.

Units are bytes of the files. A turn ends after a few seconds, and counts as many of the bytes as it had of the rows.
litdata has the rows in its own format, written once.
"""
import json
import os
import sys
import time
import warnings

warnings.simplefilter('ignore')

from turns import serve

BATCH_SIZE = 64
SECONDS = 4


def files_of(directory):
    paths = [entry.path for entry in os.scandir(directory) if entry.is_file() and not entry.name.startswith('.')]
    return sorted(paths)


def beside(paths):
    """The same rows as MDS."""
    return os.path.join(os.path.dirname(os.path.dirname(paths[0])), 'mds')


def first_epochs(paths, epoch):
    """A turn that reads an epoch from its beginning: `epoch()` gives numbers of rows."""
    with open(os.path.join(beside(paths), 'index.json')) as f:
        rows = sum(shard['samples'] for shard in json.load(f)['shards'])
    size = sum(map(os.path.getsize, paths))

    def work():
        seen, end = 0, time.perf_counter() + SECONDS
        for count in epoch():
            seen += count
            if time.perf_counter() > end:
                break
        return size * seen / rows
    return work


def pyarrow(kind, paths):
    """Decodes alone: no row becomes a sample."""
    if kind != 'parquet':
        return None
    import pyarrow.parquet as pq
    return lambda: (batch.num_rows for path in paths for batch in pq.ParquetFile(path).iter_batches())


def datasets(kind, paths):
    builder = {'jsonl': 'json', 'csv': 'csv', 'parquet': 'parquet', 'tar': 'webdataset'}.get(kind)
    if builder is None:
        return None
    os.environ.update(HF_HUB_OFFLINE='1', HF_DATASETS_CACHE=os.path.join(os.path.dirname(paths[0]), '.datasets'))
    import datasets as hf
    hf.disable_progress_bars()
    stream = hf.load_dataset(builder, data_files=paths, split='train', streaming=True).shuffle(seed=1, buffer_size=1000)
    return lambda: (len(next(iter(batch.values()))) for batch in stream.iter(BATCH_SIZE))


def litdata(kind, paths):
    if kind == 'files':  # it reads those of buckets alone
        return None
    from others import litdata_form, named_dtypes
    named_dtypes()
    from litdata import StreamingDataLoader, StreamingDataset
    own = litdata_form(beside(paths))

    def epoch():
        dataset = StreamingDataset(own, shuffle=True)
        # 2 is what older torch takes for "not given"
        return map(len, StreamingDataLoader(dataset, batch_size=BATCH_SIZE, num_workers=0, prefetch_factor=2))
    return epoch


def webdataset(kind, paths):
    if kind != 'tar':
        return None
    import webdataset as wds
    dataset = wds.WebDataset(paths, shardshuffle=len(paths)).shuffle(1000).to_tuple('bin', 'cls').batched(BATCH_SIZE)
    return lambda: (len(batch[0]) for batch in dataset)


def main():
    bench, case, directory, who = sys.argv[1:5]
    if bench != 'raw' or not case.startswith('first epoch'):
        return
    kind = case.removeprefix('first epoch, ').split()[0]
    paths = files_of(directory)
    readers = {'pyarrow': pyarrow, 'datasets': datasets, 'litdata': litdata, 'webdataset': webdataset}
    epoch = None if kind == 'token' else readers[who](kind, paths)
    if epoch is not None:
        name = {'pyarrow': 'pyarrow, decode', 'datasets': 'huggingface datasets'}.get(who, who)
        serve(name, first_epochs(paths, epoch))


if __name__ == '__main__':
    main()
