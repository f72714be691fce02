"""MosaicML Streaming names its shared memory by the first number that is free, and clean_stale_shared_memory() deletes that of all
processes of the machine: programs that read with it run one after the other."""
import fcntl
import os
import tempfile


def alone():
    """Waits until no other of them runs. The lock goes with what this returns."""
    lock = open(os.path.join(tempfile.gettempdir(), f'mdstream-interop-{os.getuid()}.lock'), 'w')
    fcntl.flock(lock, fcntl.LOCK_EX)
    return lock
