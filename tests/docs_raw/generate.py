#!/usr/bin/env python3
"""generate.py PAGE INTO [SECTION]: the code of docs/raw.md as tests. The section's lines stand as they are, but that URLs and
paths go through `at`; each is a test of its format on the files that page.hpp makes. All sections but those that need a
further library, or the one that is named."""
import pathlib
import re
import sys

text = pathlib.Path(sys.argv[1]).read_text()
needs_library = {"parquet"}
wanted = sys.argv[3] if len(sys.argv) > 3 else None
parts = []
for section in re.split(r"^###? ", text, flags=re.M):
    title = section.partition("\n")[0]
    for code in re.findall(r"^```cpp\n(.*?)^```", section, flags=re.M | re.S):
        code = re.sub(r"^(#include|namespace mds = ).*\n", "", code, flags=re.M)
        if "using policies = " in code:
            parts.append(code)
        elif title != wanted if wanted else title in needs_library:
            continue
        elif title == "Your own":
            continue  # tests/raw reads that format
        elif found := re.search(r"const auto (\w+) = first", code):
            code = re.sub(r"(\.(?:remote|local) = )(\"[^\"]*\")", r"\1page.at(\2)", code)
            parts.append(f'TEST_CASE("docs/raw.md: {title}") {{\n  const docs_raw::page page;\n{code}'
                         f'  docs_raw::check_{title.lower().replace(" ", "_")}(data, {found.group(1)});\n}}\n')
        else:
            sys.exit(f"generate.py does not know what to do with the code of '{title}'")
if len(parts) != (2 if wanted else 9):
    sys.exit(f"docs/raw.md has {len(parts)} examples")
head = f'#include "docs_raw/{wanted or "page"}.hpp"\n\n'
pathlib.Path(sys.argv[2]).write_text(head + "namespace {\n\n" + "\n".join(parts) + "\n}  // namespace\n")
