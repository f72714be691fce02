#!/usr/bin/env python3
"""Libraries that read files as they are: `raw.py raw CASE DIRECTORY WHO`; see turns.py. WHO: pyarrow, datasets,
litdata, webdataset.

Units are bytes of the files. A turn ends after a few seconds, and counts as many of the bytes as it had of the rows.
litdata has the rows in its own format, written once. The files are in the page cache, and no peer keeps another copy of
them: its first and its cached epochs are the same.
"""
import importlib.util
import json
import os
import shutil
import sys
import time
import warnings

warnings.simplefilter('ignore')

from turns import endless, for_a_second, serve

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


def random_windows(who, paths):
    """Samples one by one, in a random order."""
    if who != 'litdata':
        return None
    from others import litdata_form, named_dtypes
    named_dtypes()
    import numpy as np
    from litdata import StreamingDataset
    dataset = StreamingDataset(litdata_form(beside(paths)))
    order = np.random.default_rng(7).permutation(len(dataset)).tolist()
    return for_a_second(endless(lambda: (1 if dataset[i] is not None else 0 for i in order)))


def footers(who, paths):
    """Counts the rows of each file by its footer."""
    if who == 'pyarrow':
        import pyarrow.parquet as pq
        return lambda: len([pq.read_metadata(path).num_rows for path in paths])
    if who == 'litdata' and importlib.util.find_spec('polars'):  # which it reads Parquet with
        from others import named_dtypes
        named_dtypes()
        from litdata import index_parquet_dataset
        out = os.path.join(os.path.dirname(paths[0]), '.litdata')

        def work():
            shutil.rmtree(out, ignore_errors=True)
            os.makedirs(out)
            index_parquet_dataset(os.path.dirname(paths[0]), out)
            return len(paths)
        return work
    return None


def epochs(case, who, paths):
    which, kind = case.split(', ')
    kind = kind.split()[0]
    if who == 'litdata' and (which, kind) == ('first epoch', 'files'):  # it reads those of buckets alone
        return None
    readers = {'pyarrow': pyarrow, 'datasets': datasets, 'litdata': litdata, 'webdataset': webdataset}
    epoch = readers[who](kind, paths)
    return epoch and first_epochs(paths, epoch)


def main():
    bench, case, directory, who = sys.argv[1:5]
    if bench != 'raw':
        return
    paths = files_of(directory)
    if case.startswith(('first epoch', 'cached epoch')):
        work = epochs(case, who, paths)
    elif case.startswith('token windows'):
        work = random_windows(who, paths)
    else:
        work = footers(who, paths)
    if work is not None:
        is_epoch = case.startswith(('first epoch', 'cached epoch'))
        pyarrow_name = 'pyarrow, decode' if is_epoch else 'pyarrow'
        serve({'pyarrow': pyarrow_name, 'datasets': 'huggingface datasets'}.get(who, who), work)


if __name__ == '__main__':
    main()
