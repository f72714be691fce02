#!/usr/bin/env python3
"""join_logs.py WORK RUN: prints the log of a run that was on several nodes, step by step, of the parts that lie in WORK/nodes/*. The
exit status is 1 where two nodes have done a step with different samples or another loss, or a step is missing."""
import pathlib
import sys

work, run = pathlib.Path(sys.argv[1]), sys.argv[2]
joined, source = {}, {}
for part in sorted(work.glob(f"nodes/*/runs/{run}.tsv")):
    for line in part.read_text().splitlines(keepends=True):
        step = int(line.split("\t")[0])
        if not line.endswith("\n"):
            continue  # a kill has cut it short
        if joined.setdefault(step, line) != line:
            sys.exit(f"step {step} is another one in {part} than in {source[step]}")
        source.setdefault(step, part)
if sorted(joined) != list(range(len(joined))):
    sys.exit(f"steps are missing in {work}/nodes/*/runs/{run}.tsv: {sorted(set(range(max(joined))) - set(joined))[:5]}")
sys.stdout.write("".join(joined[step] for step in sorted(joined)))
