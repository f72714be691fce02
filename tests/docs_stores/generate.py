#!/usr/bin/env python3
"""generate.py PAGE INTO: the code of docs/stores.md as a program. Each section becomes a function with the section's lines as
they stand, but that URLs and paths go through `at`, and that writers are filled and loaders and datasets read."""
import pathlib
import re
import sys

text = pathlib.Path(sys.argv[1]).read_text()
parts, names = [], []


def run_lines(code):
    """The lines of a section that opens stores, with what makes them do their work."""
    code = re.sub(r'(\.(?:out|remote|local) = )("[^"]*")', r"\1at<store>(\2)", code)
    code = code.replace("mds::loader<>", "mds::loader<policies>")
    out = []
    for line in code.splitlines():
        out.append("  " + line)
        for kind, does in (("writer", "fill"), ("loader", "drain"), ("dataset", "look")):
            if found := re.match(rf"mds::{kind}<policies> (\w+)\(", line):
                out.append(f"  {does}({found.group(1)});")
    return "\n".join(out)


for section in re.split(r"^## ", text, flags=re.M):
    title = section.partition("\n")[0]
    slug = re.sub(r"\W+", "_", title.lower()).strip("_")
    for code in re.findall(r"^```cpp\n(.*?)^```", section, flags=re.M | re.S):
        if "struct policies" in code:
            code = re.sub(r"^#include.*\n", "", code, flags=re.M)
            parts.append(f"namespace of_page {{\n{code}static_assert(mds::openable_store<policies::store>);\n}}\n")
        elif re.search(r"mds::(writer|loader|dataset)<", code):
            name = slug + "_dataset" * ("mds::dataset<" in code)
            opens = "" if "using store" in code else "  using store = policies::store;\n"
            parts.append(f"void {name}() {{\n{opens}{run_lines(code)}\n}}\n")
            names.append(name)
        elif "presigned_url" in code:
            name = slug + "_signed_url"
            code = re.sub(r'(mds::store::\w+)( \w+\(threads, )("[^"]*")', r"\1\2at<\1>(\3)", code)
            parts.append(f"void {name}() {{\n  mds::runtime threads;\n{code}  fetch(threads, url);\n}}\n")
            names.append(name)
        elif "mds::retrying" in code:
            parts.append(f"void {slug}(mds::runtime& threads, const mds::any_async_store& s3) {{\n{code}  (void)store;\n}}\n")
        else:
            sys.exit(f"generate.py does not know what to do with the code of '{title}'")
rows = "".join(f'    {{"{name}", &{name}}},\n' for name in names)
parts.append(f"const std::map<std::string, void (*)()> sections{{\n{rows}}};\n")
pathlib.Path(sys.argv[2]).write_text('#include "docs_stores/page.hpp"\n\n' + "\n".join(parts) + "\n" + '#include "docs_stores/main.ipp"\n')
