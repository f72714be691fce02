#!/usr/bin/env python3
"""bench/compile.py DIRECTORY: what it costs to compile a program that uses mdstream, beside a revision before.

Each case is one translation unit, compiled by g++ with -O2 in turns: as it is here and as it was in the base revision
(MDSTREAM_BENCH_BASE), which is checked out below DIRECTORY. `value` is CPU time of the compiler in user mode in
seconds, `rss_mb` its largest resident size in MiB; `of_base` is this tree's share of the base's. With
mdstream::compiled a user's file includes declarations alone (MDSTREAM_SEPARATE_COMPILATION).
MDSTREAM_BENCH_ONLY=TEXT leaves the cases whose names hold TEXT, MDSTREAM_BENCH_TURNS is the number of turns.
"""

import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys

here = pathlib.Path(__file__).resolve().parent
project = here.parent
base_revision = os.environ.get("MDSTREAM_BENCH_BASE", "98720b5ffd6bf4c0b4415301574162f29f6a51ce")
compiler = os.environ.get("CXX", "g++")
turns = int(os.environ.get("MDSTREAM_BENCH_TURNS", "3"))


def git(*arguments):
    return subprocess.run(["git", "-C", project, *arguments], check=True, capture_output=True, text=True).stdout.strip()


def base_tree(data):
    """The base revision's files below `data`."""
    revision = git("rev-parse", "--verify", base_revision + "^{commit}")
    tree = data / f"compile-{revision[:10]}"
    if not (tree / "README.md").exists():
        tree.mkdir(parents=True, exist_ok=True)
        archive = subprocess.Popen(["git", "-C", project, "archive", revision, "include", "README.md"], stdout=subprocess.PIPE)
        subprocess.run(["tar", "-x", "-C", tree], stdin=archive.stdout, check=True)
        if archive.wait() != 0:
            sys.exit(f"bench/compile.py: git archive {revision} failed")
    return tree


def compile_once(tree, source, flags):
    """(CPU seconds in user mode, MiB of resident memory) of one compilation, in a process that is asked for its own."""
    command = [compiler, "-std=c++20", "-O2", *flags, f"-I{tree / 'include'}", "-c", source, "-o", "/dev/null"]
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        done = subprocess.run(command, capture_output=True, text=True)
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        with os.fdopen(write, "w") as out:
            json.dump([done.returncode, used.ru_utime, used.ru_maxrss / 1024, done.stderr[:4000]], out)
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as answer:
        status, seconds, megabytes, errors = json.load(answer)
    os.waitpid(child, 0)
    if status != 0:
        sys.exit(f"bench/compile.py: {' '.join(map(str, command))}\n{errors}")
    return seconds, megabytes


def run(case, contenders):
    if os.environ.get("MDSTREAM_BENCH_ONLY", "") not in case:
        return
    figures = {who: [] for who, *_ in contenders}
    for _ in range(turns):
        for who, *what in contenders:
            figures[who].append(compile_once(*what))
    medians = {}
    for who, taken in figures.items():
        seconds = sorted(value for value, _ in taken)
        medians[who] = statistics.median(seconds), max(size for _, size in taken)
        print(json.dumps({"bench": "compile", "case": case, "who": who, "value": round(medians[who][0], 2), "unit": "s",
                          "min": round(seconds[0], 2), "max": round(seconds[-1], 2), "rss_mb": round(medians[who][1])}))
    (mine, mine_mb), (base, base_mb) = medians["mdstream"], medians["base"]
    print(json.dumps({"bench": "compile", "case": case, "ratio": {"base": round(base / mine, 2)},
                      "of_base": round(mine / base, 3), "memory_of_base": round(mine_mb / base_mb, 3)}), flush=True)


def program_of(readme, where):
    """The first block of C++ of a README."""
    text = readme.read_text(encoding="utf-8").split("```cpp\n", 1)[1].split("```", 1)[0]
    where.write_text(text, encoding="utf-8")
    return where


def main():
    data = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "build/bench-data").resolve()
    data.mkdir(parents=True, exist_ok=True)
    base = base_tree(data)
    cases = [("include", here / "compile" / "include.cpp", here / "compile" / "include.cpp"),
             ("README's program", here / "compile" / "program.cpp", program_of(base / "README.md", data / "compile-base.cpp")),
             ("trainer, S3, adapters, coroutines", here / "compile" / "trainer.cpp", here / "compile" / "trainer.cpp")]
    for name, source, base_source in cases:
        run(name, [("mdstream", project, source, []), ("base", base, base_source, [])])
        if (project / "include" / "mdstream" / "src.hpp").exists():
            run(name + ", compiled", [("mdstream", project, source, ["-DMDSTREAM_SEPARATE_COMPILATION"]),
                                      ("base", base, base_source, [])])


if __name__ == "__main__":
    main()
