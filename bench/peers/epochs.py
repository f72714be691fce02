"""First epochs of peers, from the benchmark's web server into a cache of their own: for peers that read S3, which
takes a server that asks for no key as a bucket of the folder's name. See turns.py.
"""
import os
import shutil
import time


def first_epochs(directory, epoch, seconds=8):
    """A turn that reads a first epoch into an empty cache, or as much of it as `seconds` allow: `epoch(url, cache)` gives
    numbers of samples. `directory` is the dataset's, which the server has under its last name."""
    os.environ.setdefault('AWS_ACCESS_KEY_ID', 'none')
    os.environ.setdefault('AWS_SECRET_ACCESS_KEY', 'none')
    os.environ.setdefault('AWS_REGION', 'us-east-1')
    os.environ.setdefault('AWS_DEFAULT_REGION', 'us-east-1')
    os.environ['S3_ENDPOINT_URL'] = os.environ['MDSTREAM_BENCH_URL']
    os.environ['AWS_ENDPOINT_URL'] = os.environ['MDSTREAM_BENCH_URL']
    cache = os.path.dirname(directory) + '-peer-cache'
    turn = 0

    def work():
        nonlocal turn
        shutil.rmtree(cache, ignore_errors=True)
        turn += 1  # a directory of its own each time: they remember those that they used
        units, end = 0, time.perf_counter() + seconds
        for samples in epoch('s3://' + os.path.basename(directory), f'{cache}/{turn}'):
            units += samples
            if time.perf_counter() > end:
                break
        return units
    return work
