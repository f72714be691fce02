#!/usr/bin/env python3
"""tools/make-src.py [--check]: writes include/mdstream/src.hpp, which includes every .ipp file.

What needs a further library, itself or by what it uses, stands behind MDSTREAM_WITH_NAME. With --check
nothing is written, and the exit status is 1 where the file is not what this script would write.
"""
import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parent.parent / "include"
target = root / "mdstream" / "src.hpp"

# The library's parts, each a translation unit of mdstream::compiled: about as dear as each other.
# Modules that are not named are of the last.
PARTS = [["net"], ["store"], ["raw", "checkpoint", "writer"], ["cache", "schedule"], ["stream"], []]

# What an include says that a file needs: the macro of the component.
LIBRARIES = {
    r"curl/": "CURL", r"openssl/": "OPENSSL", r"zstd\.h": "ZSTD", r"zlib\.h": "GZ", r"bzlib\.h": "BZ2",
    r"brotli/": "BR", r"snappy-c\.h": "SNAPPY", r"xxhash\.h": "XXHASH", r"jpeglib\.h": "JPEG", r"png\.h": "PNG",
    r"cuda(_runtime_api)?\.h": "CUDA", r"nvjpeg\.h": "NVJPEG",
    r"(arrow|parquet)/": "PARQUET",
}

HEAD = """\
#pragma once

/// The definitions of the plain code, which headers only declare where
/// MDSTREAM_SEPARATE_COMPILATION is defined. Include it in one source file of such a program, and
/// define MDSTREAM_WITH_NAME for each component that the program links (MDSTREAM_WITH_ZSTD,
/// MDSTREAM_WITH_CURL ...). With MDSTREAM_SRC_PART defined as a number, only that part of it:
/// several files then share the work. The CMake target mdstream::compiled does all of that.
///
/// tools/make-src.py writes this file.

#ifndef MDSTREAM_SEPARATE_COMPILATION
#error \\
    "define MDSTREAM_SEPARATE_COMPILATION for the whole program, or do not include <mdstream/src.hpp>"
#endif
"""

included = {}


def includes_of(name):
    if name not in included:
        text = (root / name).read_text(encoding="utf-8")
        included[name] = re.findall(r"^\s*#\s*include\s*[<]([^>]+)[>]", text, flags=re.M)
    return included[name]


def libraries_of(name):
    """Of all that the file includes, by way of other headers and what implements them, too."""
    seen, todo, found = {name}, [name], set()
    while todo:
        for other in includes_of(todo.pop()):
            found |= {library for pattern, library in LIBRARIES.items() if re.match(pattern, other)}
            if other.startswith("mdstream/") and other not in seen:
                seen.add(other)
                todo.append(other)
    return found


def part_of(name):
    module = name.split("/")[1]
    return next((number for number, modules in enumerate(PARTS, 1) if module in modules), len(PARTS))


def source():
    parts = {number: {} for number in range(1, len(PARTS) + 1)}
    for name in sorted(str(path.relative_to(root)) for path in root.rglob("*.ipp")):
        parts[part_of(name)].setdefault(tuple(sorted(libraries_of(name))), []).append(name)
    out = [HEAD]
    for number, groups in parts.items():
        out.append(f"\n#if !defined(MDSTREAM_SRC_PART) || MDSTREAM_SRC_PART == {number}\n")
        for libraries, names in sorted(groups.items()):
            lines = "".join(f"#include <{name}>\n" for name in names)
            if libraries:
                condition = " && ".join(f"defined(MDSTREAM_WITH_{library})" for library in libraries)
                lines = f"#if {condition}\n{lines}#endif\n"
            out.append(lines)
        out.append("#endif\n")
    return "".join(out)


def main():
    wanted = source()
    if "--check" not in sys.argv[1:]:
        target.write_text(wanted, encoding="utf-8")
    elif not target.exists() or target.read_text(encoding="utf-8") != wanted:
        sys.exit("mdstream: include/mdstream/src.hpp does not include what there is: run tools/make-src.py")
    else:
        print("mdstream: include/mdstream/src.hpp includes all .ipp files")


main()
