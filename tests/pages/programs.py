#!/usr/bin/env python3
"""programs.py [--parts] INTO PAGE...: the C++ of pages as source files, as it stands there; prints the name of each file.

A block with a `main` is a program of its own: PAGE_N.program.cpp. Any other block stands in what the comment before it says,
in the place of BLOCK, and is compiled only: all of them in parts.part.cpp, each in a namespace of its own.

    <!-- compiled in
    #include <mdstream/mdstream.hpp>
    void use(mdstream::loader<>& loader) { BLOCK }
    -->

With `run in` in place of `compiled in`, the comment defines `void run()`, and may `check(condition)`. All blocks of this kind, of the
pages of one folder, are one program, FOLDER_1.program.cpp, which calls them one after the other, each in an empty directory.

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
runs = {}  # folder -> its includes, examples and their names

RUNNER = """
#include <cstdio>
#include <exception>
#include <filesystem>
#include <source_location>
#include <stdexcept>
#include <string>

/// Ends the program if an example does not do what its page says.
void check(bool right, std::source_location where = std::source_location::current()) {
  if (!right) throw std::runtime_error("the check in line " + std::to_string(where.line()) + " does not hold");
}

"""


def takes_includes(content, into):
    """The content without its lines #include, which are added to `into`."""
    found = re.findall(r"^#include.*\n", content, flags=re.M)
    into += [each for each in found if each not in into]
    return re.sub(r"^#include.*\n", "\n", content, flags=re.M)


def write(source, content):
    if not source.exists() or source.read_text(encoding="utf-8") != content:
        source.write_text(content, encoding="utf-8")
    print(source)


for page in pages:
    text = page.read_text(encoding="utf-8")
    blocks = list(re.finditer(r"(?:^<!-- (compiled|run) in\n(.*?)^-->\n)?^```cpp\n(.*?)^```$", text, flags=re.M | re.S))
    for number, block in enumerate(blocks, 1):
        kind, around, code = block.groups()
        if around is None and parts_alone:
            continue
        whole = re.search(r"\bint main\(", code) is not None
        line = text[:block.start(3)].count("\n") + 1
        if whole == (around is not None) or (around and "BLOCK" not in around):
            sys.exit(f"{page}:{line}: a block is either a program with a main, or has a comment `compiled in` with BLOCK before it")
        code = f'#line {line} "{page}"\n{code}'
        if whole:
            write(into / f"{page.stem}_{number}.program.cpp", code)
            continue
        name = f"{re.sub(r'[^a-zA-Z0-9]', '_', page.stem)}_{number}"
        content = around.replace("BLOCK", "\n" + code, 1)
        if kind == "run":
            own = runs.setdefault(page.parent.name, ([], [], []))
            first = text[:block.start(2)].count("\n") + 1
            own[1].append(f'namespace {name} {{\n#line {first} "{page}"\n{takes_includes(content, own[0])}}}\n')
            own[2].append(name)
        else:
            parts.append(f"namespace {name} {{\n{takes_includes(content, includes)}}}\n")
    if len(blocks) != len(re.findall(r"^```cpp$", text, flags=re.M)):
        sys.exit(f"{page}: a block has no end")
for folder, (own, examples, names) in runs.items():
    rows = "".join(f'    {{"{name}", &{name}::run}},\n' for name in names)
    write(into / f"{folder}_1.program.cpp", f"""{"".join(own)}{RUNNER}{"".join(examples)}
int main() {{
  const struct {{
    const char* name;
    void (*run)();
  }} examples[] = {{
{rows}  }};
  const auto work = std::filesystem::current_path();
  int failed = 0;
  for (const auto& each : examples) {{
    std::filesystem::create_directory(work / each.name);
    std::filesystem::current_path(work / each.name);
    try {{
      each.run();
      std::printf("%s ran\\n", each.name);
    }} catch (const std::exception& failure) {{
      std::fprintf(stderr, "%s: %s\\n", each.name, failure.what());
      ++failed;
    }}
  }}
  return failed;
}}
""")
if parts:
    write(into / "parts.part.cpp", "".join(includes) + "\n" + "\n".join(parts))
