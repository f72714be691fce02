#!/usr/bin/env python3
"""projects.py SOURCE INSTALLED VCPKG INTO OPTION... -- PAGE...: builds the CMake projects of pages, as they stand there.

Each ```cmake block is a CMakeLists.txt in a directory of its own below INTO, or stands in one that the comment before it gives, in the
place of BLOCK. A comment may also say why a block is not built:

    <!-- built in
    cmake_minimum_required(VERSION 3.22)
    project(trainer CXX)
    add_executable(trainer trainer.cpp)
    BLOCK
    -->

    <!-- not built: needs a CUDA toolkit -->

A source file of its target is the program that follows the block on the page, else examples/short/FILE, else one that uses zstd alone.
The folder `mdstream` is SOURCE, and so is what FetchContent would download. Projects that call find_package are built with the package of
INSTALLED, and configured once more with that of VCPKG, of which tests/consumer builds a project. Those with mdstream::compiled are compiled
and not linked: the library's plain code takes minutes, and tests/consumer links it.
"""
import pathlib
import re
import subprocess
import sys

split = sys.argv.index("--")
source, installed, vcpkg, into = map(pathlib.Path, sys.argv[1:5])
options, pages = sys.argv[5:split], map(pathlib.Path, sys.argv[split + 1:])
BLOCK = re.compile(r"(?:^<!-- built in\n(?P<around>.*?)^-->\n|^<!-- not built: (?P<excuse>[^\n]+) -->\n)?^```cmake\n(?P<lines>.*?)^```$", re.M | re.S)
PROGRAM = re.compile(r"^```cpp\n((?:(?!^```).)*?\bint main\(.*?)^```$", re.M | re.S)


USES_ZSTD = """#include <mdstream/codec/zstd.hpp>
int main() { return mdstream::codec::zstd::open("zstd:3").compress({}).empty(); }
"""


def program_for(name, text, position):
    """The file of this name: from the page behind the block, or one of the short examples."""
    if found := PROGRAM.search(text, position):
        return found[1]
    example = source / "examples/short" / name
    return example.read_text(encoding="utf-8") if example.exists() else USES_ZSTD


def build(work, target, prefix, only_configure):
    words = [*options, f"-DFETCHCONTENT_SOURCE_DIR_MDSTREAM={source}", *([f"-DCMAKE_PREFIX_PATH={prefix}"] if prefix else [])]
    commands = [["cmake", "-S", work, "-B", work / "build", *words], ["cmake", "--build", work / "build", "--target", target]]
    for command in commands[:1] if only_configure else commands:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0:
            sys.exit(f"{work / 'CMakeLists.txt'} is not built:\n{done.stdout}")


built = 0
for page in pages:
    text = page.read_text(encoding="utf-8")
    blocks = list(BLOCK.finditer(text))
    if len(blocks) != len(re.findall(r"^```cmake$", text, re.M)):
        sys.exit(f"{page}: a cmake block has no end")
    for number, block in enumerate(blocks, 1):
        if block["excuse"]:
            continue
        lines = (block["around"] or "BLOCK").replace("BLOCK", block["lines"])
        for way, prefix in [("installed", installed), ("vcpkg", vcpkg)] if "find_package(mdstream" in lines else [("source", None)]:
            work = into / f"{page.stem}_{number}_{way}"
            work.mkdir(parents=True, exist_ok=True)
            (work / "CMakeLists.txt").write_text(lines, encoding="utf-8")
            if not (work / "mdstream").is_symlink():
                (work / "mdstream").symlink_to(source)
            target, file = re.search(r"add_executable\((\w+) ([\w.]+)\)", lines).groups()
            if "mdstream::compiled" in lines:
                target = f"CMakeFiles/{target}.dir/{file}.o"
            (work / file).write_text(program_for(file, text, block.end()), encoding="utf-8")
            build(work, target, prefix, way == "vcpkg")
            print(f"{work.name} is {'configured' if way == 'vcpkg' else 'built'}", flush=True)
            built += way != "vcpkg"
if not built:
    sys.exit("projects.py: there is no project on these pages")
print(f"mdstream: built {built} projects")
