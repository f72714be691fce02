"""The loader benchmark's dataset, for peers that have formats of their own: rows from raw MDS shards of one column."""
import json
import os

import numpy as np


def rows(directory):
    """All samples: an array of bytes [samples, size], or a list of arrays where their sizes vary."""
    with open(os.path.join(directory, 'index.json')) as f:
        shards = json.load(f)['shards']
    sizes_vary = None in shards[0]['column_sizes']
    parts = []
    for shard in shards:
        raw = np.fromfile(os.path.join(directory, shard['raw_data']['basename']), np.uint8)
        if sizes_vary:
            offsets = raw[4:4 + 4 * (shard['samples'] + 1)].view(np.uint32)
            parts += [raw[begin + 4:end] for begin, end in zip(offsets, offsets[1:])]  # behind its size
        else:
            parts.append(raw[int(raw[4:8].view(np.uint32)[0]):].reshape(shard['samples'], -1))
    return parts if sizes_vary else np.concatenate(parts)
