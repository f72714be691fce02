#!/usr/bin/env python3
"""programs.py [--parts] INTO PAGE...: the C++ of pages as source files, as it stands there; prints the name of each file.

A block with a `main` is a program of its own: PAGE_N.program.cpp. Any other block stands in what the comment before it says,
in the place of BLOCK, and is compiled only: all of them in parts.part.cpp, each in a namespace of its own.

    <!-- compiled in
    #include <mdstream/mdstream.hpp>
    void use(mdstream::loader<>& loader) { BLOCK }
    -->

With --parts only blocks with such a comment are looked at: the others of these pages have tests of their own.
"""
import pathlib
import re
import sys

words = sys.argv[1:]
parts_alone = "--parts" in words
into, *pages = (pathlib.Path(word) for word in words if word != "--parts")
into.mkdir(parents=True, exist_ok=True)
includes, parts = [], []


def write(source, content):
    if not source.exists() or source.read_text(encoding="utf-8") != content:
        source.write_text(content, encoding="utf-8")
    print(source)


for page in pages:
    text = page.read_text(encoding="utf-8")
    blocks = list(re.finditer(r"(?:^<!-- compiled in\n(.*?)^-->\n)?^```cpp\n(.*?)^```$", text, flags=re.M | re.S))
    for number, block in enumerate(blocks, 1):
        around, code = block.groups()
        if around is None and parts_alone:
            continue
        whole = re.search(r"\bint main\(", code) is not None
        line = text[:block.start(2)].count("\n") + 1
        if whole == (around is not None) or (around and "BLOCK" not in around):
            sys.exit(f"{page}:{line}: a block is either a program with a main, or has a comment `compiled in` with BLOCK before it")
        code = f'#line {line} "{page}"\n{code}'
        if whole:
            write(into / f"{page.stem}_{number}.program.cpp", code)
            continue
        content = around.replace("BLOCK", "\n" + code, 1)
        found = re.findall(r"^#include.*\n", content, flags=re.M)
        includes += [each for each in found if each not in includes]
        content = re.sub(r"^#include.*\n", "\n", content, flags=re.M)
        name = re.sub(r"\W", "_", page.stem)
        parts.append(f"namespace {name}_{number} {{\n{content}}}\n")
    if len(blocks) != len(re.findall(r"^```cpp$", text, flags=re.M)):
        sys.exit(f"{page}: a block has no end")
if parts:
    write(into / "parts.part.cpp", "".join(includes) + "\n" + "\n".join(parts))
