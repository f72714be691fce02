#!/usr/bin/env python3
"""check_run.py BUILD [--configured] [--whole|--part NAMES|--all|--update|--times]: whether a green run of ctest in BUILD means that everything ran.

Fails for a test that was skipped, one that tests/list.txt names and the build lacks, one that the list lacks, and a
file *_test.cpp that no target compiles. What the machine lacks excuses a test, where its line in the list says that it
needs it; that is printed. A case that is left out by SUCCEED has to run in another test of the same program.

By default, only what tests/run.sh cannot install excuses: a GPU, a CUDA toolkit, what the long form has more. --all, of CI: a
CUDA toolkit has to be there as well. --part, of the tests and folders whose names match: whatever the machine lacks excuses, and cases
that are left out are only printed. --configured: before anything is built, only what the configuration shows. --update writes the
list anew; what the machine lacks stays in it. --times only tells what the build and the tests took, by groups and the dearest ones.
"""

import argparse
import collections
import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as tree

tests = pathlib.Path(__file__).resolve().parent
list_file = tests / "list.txt"
peers = pathlib.Path(os.environ.get("PEERS", "/opt/peers"))

# What a machine may lack: how it is found, and what installs it.
needs = {
    "device": (lambda: pathlib.Path("/dev/nvidia0").exists(), "a GPU"),
    "nvcc": (lambda: bool(shutil.which("nvcc")) or os.access("/usr/local/cuda/bin/nvcc", os.X_OK), "a CUDA toolkit"),
    "nvidia": (lambda: (peers / "nvidia" / "complete-1").exists(), "tools/install-nvidia.sh"),
    "arrow": (lambda: (peers / "arrow" / "complete-1").exists(), "tools/install-arrow.sh"),
    "mosaic": (lambda: any(peers.glob("mosaic*/bin/python")), "tools/install-mosaic.sh"),
    "torch": (lambda: subprocess.run(["dpkg-query", "-W", "libtorch-dev"], capture_output=True).returncode == 0,
              "libtorch, which Debian has"),
    "launchers": (lambda: all(map(shutil.which, ("mpirun.openmpi", "mpiexec.hydra", "slurmd", "torchrun"))),
                  "tools/install-deps.sh launchers"),
    "long": (lambda: "MDSTREAM_LONG_TESTS" in os.environ, "the long form (--long)"),
    "ray": (lambda: (peers / "ray" / "bin" / "python").exists(), "tools/install-ray.sh"),
}
# What tests/run.sh cannot install; MosaicML Streaming and torchrun need Debian's torch.
by_hand = {"device", "nvcc", "long", "ray"}
if platform.freedesktop_os_release()["ID"] != "debian":
    by_hand |= {"torch", "launchers", "mosaic"}


# Why a case may be left out in every run of a program.
reasons = {
    "there is a device": lambda program: needs["device"][0](),
    "only root becomes others": lambda program: os.geteuid() != 0,
    "the thread sanitizer has no such fence": lambda program: program.endswith("_tsan"),
}


def needed_by(name):
    """What a test needs that a machine may lack, by its name."""
    if name == "moving_day":
        return ["launchers"]
    if name.endswith("_device"):
        return ["nvcc", "nvidia", "device"] if name.startswith(("rmm", "image_nvjpeg")) else ["nvcc", "device"]
    if name.startswith(("rmm_", "image_nvjpeg")):
        return ["nvcc", "nvidia"]
    if name.startswith(("cuda_linked", "cuda_architectures", "consumer_cuda")):
        return ["nvcc"]
    if name.startswith(("parquet", "docs_parquet")):
        return ["arrow"]
    if name.startswith(("interop", "checkpoint_reference", "launch_template_jobset")):
        return ["mosaic"]
    if name in ("launch_openmpi", "launch_hydra", "launch_torchrun", "launch_slurm"):
        return ["launchers"]
    if name == "launch_ray":
        return ["long", "ray"]
    if name == "example_libtorch":
        return ["torch"]
    if name.startswith("example_libtorch_data"):
        return ["torch", "launchers"]
    return []


def shown_by(build):
    """What ctest knows of each test."""
    shown = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], check=True, capture_output=True, text=True)
    return json.loads(shown.stdout)["tests"]


def tests_of(build):
    return {test["name"] for test in shown_by(build)}


def listed():
    out = {}
    for line in list_file.read_text(encoding="utf-8").splitlines():
        words = line.split("#")[0].split()
        if words:
            out[words[0]] = words[1:]
    return out


def write_list(names):
    lines = ["# Every test that ctest runs, and what it needs that a machine may lack (tests/check_run.py --update writes this)."]
    lines += [" ".join([name, *needed_by(name)]) for name in names]
    list_file.write_text("\n".join(lines) + "\n", encoding="utf-8")


def results_of(build):
    """name -> why it was skipped, or None, of the last run."""
    out = {}
    for test in tree.parse(build / "results.xml").iter("testcase"):
        out[test.get("name")] = None
        if test.get("status") in ("notrun", "disabled"):
            lines = (test.findtext("system-out") or "").strip().splitlines() or ["no reason was given"]
            first = next((i for i, line in enumerate(lines) if "skipped" in line.lower()), -1)
            out[test.get("name")] = "\n".join(lines[first:])  # with the end of a server's log
    return out


def left_out(build):
    """Cases that no run of their program did without leaving them out (tests/support/main.cpp prints these), as the failure of each."""
    commands = {test["name"]: test.get("command", []) for test in shown_by(build)}
    runs = collections.Counter()  # of a program with these arguments: they may select cases
    lines = collections.defaultdict(dict)
    for test in tree.parse(build / "results.xml").iter("testcase"):
        command = commands.get(test.get("name"), [])
        start = next((i for i, word in enumerate(command) if pathlib.Path(word).name.startswith("test_")), None)
        if start is None or test.get("status") in ("notrun", "disabled"):
            continue
        program = (pathlib.Path(command[start]).name, *command[start + 1:])
        runs[program] += 1
        for case, why in re.findall(r'^left out: "(.*?)": (.*)$', test.findtext("system-out") or "", re.MULTILINE):
            lines[program, case].setdefault(test.get("name"), why)
    for (program, case), tests_without in lines.items():
        whys = sorted(set(tests_without.values()))
        excused = any(why in reasons and reasons[why](program[0]) for why in whys)
        if len(tests_without) == runs[program] and not excused:
            yield f"{' '.join(program)} ran \"{case}\" nowhere: {', '.join(whys)}"


def compiled_in(build):
    """The files *_test.cpp that ninja has compiled."""
    deps = subprocess.run(["ninja", "-C", build, "-t", "deps"], check=True, capture_output=True, text=True).stdout
    found = set()
    for line in deps.splitlines():
        if line.endswith("_test.cpp"):
            found.add((build / line.strip()).resolve())
    return found


def passes_by_words(build):
    """Tests that ctest passes or skips for what they print, whatever their exit status."""
    for test in shown_by(build):
        for each in test.get("properties", []):
            if each["name"] in ("PASS_REGULAR_EXPRESSION", "SKIP_REGULAR_EXPRESSION"):
                yield f"{test['name']} has {each['name']}, which forgets the exit status: tests/support/says.sh checks both"


def show_times(title, seconds):
    """The dearest ten of name -> seconds, and the sum of all."""
    print(f"{title}: {sum(seconds.values()):.0f} s")
    for name, took in sorted(seconds.items(), key=lambda item: -item[1])[:10]:
        print(f"  {took:7.1f} s  {name}")


def times(build):
    """What ninja and ctest took, each process for itself: several run at a time."""
    compiled, outputs = collections.Counter(), {}
    for line in (build / ".ninja_log").read_text().splitlines():
        if not line.startswith("#"):
            began, ended, _, output, _ = line.split("\t")
            outputs[output] = int(began), int(ended)  # the newest line of an output
    for output, (began, ended) in outputs.items():
        compiled[output.split(".dir/")[0].replace("CMakeFiles/", "")] += (ended - began) / 1000
    tests, groups = {}, collections.Counter()
    for test in tree.parse(build / "results.xml").iter("testcase"):
        tests[test.get("name")] = float(test.get("time"))
        groups[test.get("name").split("_")[0]] += float(test.get("time"))
    show_times("built, by targets", compiled)
    show_times("tests run, by groups", groups)
    show_times("tests run", tests)


def finish(failures, summary):
    for failure in failures:
        print(f"mdstream: {failure}")
    if failures:
        sys.exit(1)
    print(f"mdstream: {summary}")


def missing(name, why, excuses):
    """The failure of a test that did not run; none, where the machine lacks what the test needs, and that excuses it: that is printed."""
    lacking = [need for need in listed().get(name, []) if not needs[need][0]()]
    if not excuses.intersection(lacking):
        return [f"{name} {why}" + (f"; it needs {needs[lacking[0]][1]}" if lacking else "")]
    print(f"mdstream: {name} did not run, it needs {needs[lacking[0]][1]}")
    return []


def absent(selected, names, why, excuses):
    for name in sorted(selected - names):
        yield from missing(name, f"is in tests/list.txt, but {why}", excuses)


def wrong_in_configuration(build, names):
    """What is wrong before anything runs, besides tests that are absent."""
    for name in sorted(names - listed().keys()):
        yield f"{name} is not in tests/list.txt: tests/check_run.py {os.path.relpath(build)} --update adds it"
    yield from passes_by_words(build)
    for file in sorted([*tests.rglob("*_test.cpp"), *tests.rglob("*.hpp")]):
        if re.search(r"\bWARN\(", file.read_text(encoding="utf-8")):
            yield f"tests/{file.relative_to(tests)} warns, which nobody sees: assert, or say SUCCEED"


def not_compiled(build, pattern=""):
    """Of the folders whose names match."""
    compiled = compiled_in(build)
    folders = {"nvcc": ("cuda/", "image/nvjpeg", "rmm/"), "nvidia": ("image/nvjpeg", "rmm/"), "arrow": ("parquet/",)}
    conditional = sum((names for need, names in folders.items() if not needs[need][0]()), ())
    for file in sorted(tests.rglob("*_test.cpp")):
        name = file.relative_to(tests).as_posix()
        if file not in compiled and not name.startswith(conditional) and re.search(pattern, name.split("/")[0]):
            yield f"tests/{name} is compiled by no target"


def update(build):
    there = tests_of(build)
    if "core_asan" not in there:
        sys.exit(f"mdstream: {build} has no tests under sanitizers: tests/run.sh makes one that has")
    away = {name for name, words in listed().items() if not all(needs[word][0]() for word in words)}
    write_list(sorted(there | away))


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
    arguments.add_argument("build", type=lambda path: pathlib.Path(path).resolve())
    arguments.add_argument("--part", metavar="PATTERN")
    for word in ("configured", "whole", "all", "update", "times"):
        arguments.add_argument(f"--{word}", action="store_true")
    options = arguments.parse_args()
    build = options.build
    if options.times:
        return times(build)
    if options.update:
        return update(build)
    excuses, selected = by_hand, listed().keys()
    if options.all:
        excuses = {"device", "long"}
    if options.configured:
        names = tests_of(build)
        failures = [*absent(selected, names, "the build has no such test", excuses), *wrong_in_configuration(build, names)]
        return finish(failures, f"{len(names)} tests are configured")
    if options.part:
        excuses, selected = set(needs), {name for name in selected if re.search(options.part, name)}
    results = results_of(build)
    skipped = {name: why for name, why in results.items() if why}
    failures = [failure for name, why in sorted(skipped.items()) for failure in missing(name, f"was skipped: {why}", excuses)]
    failures += absent(selected, results.keys(), "did not run", excuses)
    failures += [*wrong_in_configuration(build, results.keys()), *not_compiled(build, options.part or "")]
    if options.part:
        for line in left_out(build):
            print(f"mdstream: {line}")
    else:
        failures += left_out(build)
    finish(failures, f"{len(results) - len(skipped)} of {len(selected)} tests ran")


if __name__ == "__main__":
    main()
