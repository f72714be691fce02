#!/usr/bin/env python3
"""generate.py INTO PAGE...: the code of the pages on stores as a program. Each block becomes a function with the block's lines as
they stand, but that URLs and paths go through `at`, and that writers are filled and loaders and datasets read."""
import pathlib
import re
import sys

parts, names = [], []


def run_lines(code, store):
    """The lines that open stores, with what makes them do their work."""
    code = re.sub(r'(\.(?:out|remote|local) = )("[^"]*")', rf"\1at<{store}>(\2)", code)
    does = {"writer": "fill", "loader": "drain", "dataset": "look"}
    return re.sub(r"^mds::(writer|loader|dataset)<policies> (\w+)\(.*?\);$",
                  lambda found: f"{found[0]}\n{does[found[1]]}({found[2]});", code, flags=re.M | re.S)


for page in map(pathlib.Path, sys.argv[2:]):
    blocks = re.findall(r"^```cpp\n(.*?)^```$", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    for number, block in enumerate(blocks, 1):
        name = f"{page.stem}_{number}"
        own, store = re.search(r"^using policies = .*?;.*?\n", block, flags=re.M | re.S), "policies::store"
        code = re.sub(r"^(#include|namespace mds = ).*\n", "", block, flags=re.M)
        if own:  # in a namespace of its own; what follows runs with the policies of page.hpp, so that each loader is compiled once
            store = f"of_{name}::policies::store"
            parts.append(f"namespace of_{name} {{\n{own[0]}static_assert(mds::openable_store<policies::store>);\n}}\n")
            code = code.replace(own[0], "")
        if not code.strip():
            continue
        if re.search(r"^mds::(writer|loader|dataset)<policies> ", code, flags=re.M):
            parts.append(f"void {name}() {{\n{run_lines(code, store)}}}\n")
            names.append(name)
        elif "presigned_url" in code:
            code = re.sub(r'(mds::store::\w+)( \w+\(threads, )("[^"]*")', r"\1\2at<\1>(\3)", code)
            parts.append(f"void {name}() {{\n  mds::runtime threads;\n{code}  fetch(threads, url);\n}}\n")
            names.append(name)
        elif "s3_options" in code:  # of AWS alone
            parts.append(f"void {name}(mds::runtime& threads) {{\n{code}  (void)bucket;\n}}\n")
        elif "mds::retrying" in code:
            parts.append(f"void {name}(mds::runtime& threads, const mds::any_async_store& s3) {{\n{code}  (void)store;\n}}\n")
        else:
            sys.exit(f"generate.py does not know what to do with block {number} of {page}")
rows = "".join(f'    {{"{name}", &{name}}},\n' for name in names)
parts.append(f"const std::map<std::string, void (*)()> sections{{\n{rows}}};\n")
pathlib.Path(sys.argv[1]).write_text('#include "docs_stores/page.hpp"\n\n' + "\n".join(parts) + "\n" + '#include "docs_stores/main.ipp"\n')
