"""How a peer takes part in a benchmark: it is told once what to do, says what it is, and then takes turns.

Protocol, a line each: the benchmark starts `peer.py BENCH CASE DIRECTORY`; the peer prints `ready NAME`, or nothing
and ends where it has no such case. For every line that it reads it does the work once and prints units of work, seconds,
CPU seconds and MiB resident.
"""
import resource
import sys
import time


def cpu_seconds():
    """Of this process and those that it waited for."""
    uses = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(use.ru_utime + use.ru_stime for use in uses)


def resident_mb():
    with open('/proc/self/statm') as f:
        return int(f.read().split()[1]) * resource.getpagesize() / (1 << 20)


def serve(name, work):
    """Takes a turn for every line of stdin: `work()` returns how many units it did."""
    print('ready', name, flush=True)
    for _ in sys.stdin:
        cpu, begin = cpu_seconds(), time.perf_counter()
        units = work()
        seconds = time.perf_counter() - begin
        print(units, seconds, cpu_seconds() - cpu, resident_mb(), flush=True)


def for_a_second(steps):
    """A turn that takes from the iterator `steps`, whose items are numbers of samples, for about a second."""
    def work():
        units, end = 0, time.perf_counter() + 1
        while time.perf_counter() < end:
            units += next(steps)
        return units
    return work


def endless(make):
    """The items of one iterator after another."""
    while True:
        yield from make()
