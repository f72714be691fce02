#!/usr/bin/env python3
"""coverage.py [MODULE...]: which lines and branches of include/ the tests run, by module, and the ten files with most lines that none runs.

Builds the tests without sanitizers under g++'s --coverage in build/coverage, runs those of the modules (all by default, which takes
long) as tests/run.sh would, and reads what gcov tells. A line that several instantiations of a template have counts as run if one of them
runs, and so does a branch; branches of exceptions that may be thrown are left out. What no test instantiates has no lines at all.
What ran before in the same build counts too; --fresh forgets it, and --report tells it again. --lines FILE shows the lines of a file
that did not run.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess

root = pathlib.Path(__file__).resolve().parent.parent
build = root / "build" / "coverage"
library = root / "include" / "mdstream"


class File:
    """How often each line and each of its branches ran, in any translation unit."""

    def __init__(self):
        self.lines = collections.Counter()
        self.branches = collections.defaultdict(collections.Counter)

    def missing(self):
        return sorted(line for line, count in self.lines.items() if count == 0)

    def figures(self):
        """Lines and branches: run, of all."""
        branches = [count for of_line in self.branches.values() for count in of_line.values()]
        return sum(count > 0 for count in self.lines.values()), len(self.lines), sum(map(bool, branches)), len(branches)


def run(*command, **options):
    return subprocess.run([str(word) for word in command], check=True, **options)


def counted_exit():
    """Linker options by which _exit(), with which children of the tests end, writes what they counted."""
    source = build / "counted_exit.cpp"
    build.mkdir(parents=True, exist_ok=True)
    source.write_text('extern "C" { void __gcov_dump(); void __real__exit(int);\n'
                      "void __wrap__exit(int status) { __gcov_dump(); __real__exit(status); } }\n", encoding="utf-8")
    run("g++", "-c", source, "-o", source.with_suffix(".o"))
    return f"-Wl,--wrap=_exit {source.with_suffix('.o')}"


def make(modules, jobs):
    options = ["-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS=-O0 --coverage", "-DMDSTREAM_TESTS=ON", "-DMDSTREAM_CUDA=OFF",
               "-DMDSTREAM_CLANG=OFF",  # whose counts gcov cannot read
               f"-DCMAKE_EXE_LINKER_FLAGS={counted_exit()}"]
    run("cmake", "-S", root, "-B", build, "-G", "Ninja", *options, stdout=subprocess.DEVNULL)
    shown = run("ctest", "--test-dir", build, "--show-only=json-v1", capture_output=True, text=True).stdout
    tests = [t for t in json.loads(shown)["tests"]
             if not modules or re.match(f"({'|'.join(modules)})(_|$)", t["name"])]
    if not tests:
        raise SystemExit(f"coverage.py: no test is named after {' or '.join(modules)}")
    targets = subprocess.run(["ninja", "-C", build, "-t", "targets", "all"], check=True, capture_output=True, text=True).stdout
    known = {line.split(":")[0] for line in targets.splitlines()}
    words = {os.path.relpath(path, build) for test in tests for word in test.get("command", [])
             for path in re.findall(re.escape(str(build)) + "[^;=]*", word)}
    own = re.compile(f"test_({'|'.join(modules)})(_[a-z]+)*")  # ctest does not know the programs of those that are not built yet
    wanted = sorted(words & known | set(filter(own.fullmatch, known)))
    run("ninja", "-C", build, f"-j{jobs}", *(wanted if modules else []))
    return [test["name"] for test in tests]


def read(counts_file):
    """Yields what gcov tells of each file of include/ that one translation unit has."""
    printed = run("gcov", "--json-format", "--stdout", "--branch-probabilities", counts_file, cwd=build, capture_output=True, text=True)
    for document in printed.stdout.splitlines():
        for file in json.loads(document)["files"]:
            for base in (root, build):  # -ffile-prefix-map makes the names of the tests' files relative to the former
                path = pathlib.Path(os.path.normpath(base / file["file"]))
                if library in path.parents:
                    yield path, file["lines"]
                    break


def collect(jobs):
    files = collections.defaultdict(File)
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for unit in pool.map(lambda path: list(read(path)), sorted(build.rglob("*.gcda"))):
            for path, lines in unit:
                file = files[path]
                for line in lines:
                    file.lines[line["line_number"]] += line["count"]
                    branches = [branch for branch in line["branches"] if not branch["throw"]]
                    for index, branch in enumerate(branches):
                        file.branches[line["line_number"]][index] += branch["count"]
    return files


def ranges(lines):
    """[1, 2, 3, 7] as 1-3, 7."""
    out = []
    for line in lines:
        if out and out[-1][1] == line - 1:
            out[-1][1] = line
        else:
            out.append([line, line])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in out)


def show(name, figures):
    lines, of_lines, branches, of_branches = figures
    percent = [f"{100 * part / whole:5.1f} %" if whole else "      -" for part, whole in ((lines, of_lines), (branches, of_branches))]
    print(f"{name:<12} {percent[0]} of {of_lines:6} lines {percent[1]} of {of_branches:6} branches")


def report(files, wanted):
    """Of the modules that are wanted, where include/ has modules of these names."""
    files = {path: file for path, file in files.items() if path.relative_to(library).parts[0] in wanted} or files
    modules = collections.defaultdict(list)
    for path, file in files.items():
        modules[path.relative_to(library).parts[0]].append(file.figures())
    for name, figures in sorted(modules.items()):
        show(name, map(sum, zip(*figures)))
    show("all", map(sum, zip(*(file.figures() for file in files.values()))))
    holes = sorted(files.items(), key=lambda item: len(item[1].missing()), reverse=True)[:10]
    print("\nThe most lines that did not run:")
    for path, file in holes:
        print(f"{len(file.missing()):4} of {len(file.lines):4}  {path.relative_to(root / 'include')}: {ranges(file.missing())}")


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("modules", nargs="*", metavar="MODULE")
    arguments.add_argument("--fresh", action="store_true", help="count only the runs of this call")
    arguments.add_argument("--report", action="store_true", help="run nothing")
    arguments.add_argument("--lines", metavar="FILE", help="show what did not run of files whose path ends so, and run nothing")
    args = arguments.parse_args()
    jobs = int(os.environ.get("MDSTREAM_JOBS", os.cpu_count()))
    if args.lines:
        for path, file in collect(jobs).items():
            if str(path).endswith(args.lines):
                text = path.read_text(encoding="utf-8").splitlines()
                print("\n".join(f"{path.name}:{line}: {text[line - 1]}" for line in file.missing()))
        return
    if args.report:
        return report(collect(jobs), args.modules)
    names = make(args.modules, jobs)
    if args.fresh:
        for counts_file in build.rglob("*.gcda"):
            counts_file.unlink()
    pattern = "^(" + "|".join(map(re.escape, names)) + ")$"
    done = subprocess.run(["ctest", "--test-dir", build, "--output-on-failure", f"-j{jobs}", "-R", pattern])
    report(collect(jobs), args.modules)
    raise SystemExit(done.returncode)


if __name__ == "__main__":
    main()
