#!/usr/bin/env python3
"""programs.py INTO PAGE...: the C++ of pages as source files, as it stands there; prints the name of each file.

A block with a `main` is a program of its own: PAGE_N.program.cpp. Any other block stands in what the comment before it says,
in the place of BLOCK, and is compiled only: PAGE_N.part.cpp.

    <!-- compiled in
    #include <mdstream/mdstream.hpp>
    void use(mdstream::loader<>& loader) { BLOCK }
    -->
"""
import pathlib
import re
import sys

into = pathlib.Path(sys.argv[1])
into.mkdir(parents=True, exist_ok=True)
for name in sys.argv[2:]:
    page = pathlib.Path(name)
    text = page.read_text(encoding="utf-8")
    blocks = list(re.finditer(r"(?:^<!-- compiled in\n(.*?)^-->\n)?^```cpp\n(.*?)^```$", text, flags=re.M | re.S))
    for number, (around, code) in enumerate((found.groups() for found in blocks), 1):
        whole = re.search(r"\bint main\(", code) is not None
        line = text[:blocks[number - 1].start(2)].count("\n") + 1
        if whole == (around is not None) or (around and "BLOCK" not in around):
            sys.exit(f"{page}:{line}: a block is either a program with a main, or has a comment `compiled in` with BLOCK before it")
        code = f'#line {line} "{page}"\n{code}'
        source = into / f"{page.stem}_{number}.{'program' if whole else 'part'}.cpp"
        content = code if whole else around.replace("BLOCK", "\n" + code, 1)
        if not source.exists() or source.read_text(encoding="utf-8") != content:
            source.write_text(content, encoding="utf-8")
        print(source)
    if len(blocks) != len(re.findall(r"^```cpp$", text, flags=re.M)):
        sys.exit(f"{page}: a block has no end")
