"""First epochs of peers, from the benchmark's web server into a cache of their own: for peers that read S3, which
takes a server that asks for no key as a bucket of the folder's name. See turns.py.
"""
import os
import shutil
import time

BATCH_SIZE = 32


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

    def read(place):
        units, end = 0, time.perf_counter() + seconds
        for samples in epoch('s3://' + os.path.basename(directory), place):
            units += samples
            if time.perf_counter() > end:
                break
        return units

    def work():
        nonlocal turn
        shutil.rmtree(cache, ignore_errors=True)
        turn += 1  # a directory of its own each time: they remember those that they used
        return in_a_process(lambda: read(f'{cache}/{turn}'))
    return work


def in_a_process(work):
    """The number that `work()` returns. What it leaves running, threads that fetch ahead say, ends with its process and
    takes nothing from the next turn."""
    result, answer = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.write(answer, str(work()).encode())
            status = 0
        finally:
            os._exit(status)
    os.close(answer)
    with os.fdopen(result) as text:
        said = text.read()
    _, status = os.waitpid(child, 0)
    if status != 0:
        raise RuntimeError('an epoch failed')
    return int(said)
