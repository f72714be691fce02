#!/usr/bin/env python3
"""tools/check-api.py [--write] [FOLDER]: docs/api.txt lists the public headers and their names.

A header is public unless it lies in a `detail` folder or in a module that has nothing for users
(PRIVATE). Its names are those at the level of namespaces, outside `detail`. The list is written with
--write; without it the exit status is 1 where list and headers differ, or where a private header
defines a name outside `detail`.
"""
import importlib.util
import pathlib
import re
import sys

here = pathlib.Path(__file__).resolve().parent
spec = importlib.util.spec_from_file_location("check_names", here / "check-names.py")
names = importlib.util.module_from_spec(spec)
spec.loader.exec_module(names)

# Modules that only the library itself uses; their own namespaces are private as well.
PRIVATE = {"net", "policies", "cuda"}
PRIVATE_NAMESPACES = {"net", "numpy", "kernels"}

HEAD = """\
# The public headers and the names that they define, without `mdstream::`. All others are private and may
# change at any time. tools/check-api.py --write writes this list, and CI holds it against the headers.
"""


def is_private(header):
    return "detail" in header.parts or header.parts[0] in PRIVATE


def public_names(path, declared=True):
    """The names that a header defines outside `detail`, in order."""
    found = set()
    for namespace, name in names.definitions(path, declared):
        parts = namespace.split("::")
        if name != "operator" and parts[0] == "mdstream" and "detail" not in parts and not PRIVATE_NAMESPACES & set(parts):
            found.add("::".join(parts[1:] + [name]))
    return sorted(found)


def main():
    arguments = [each for each in sys.argv[1:] if each != "--write"]
    root = pathlib.Path(arguments[0]) if arguments else here.parent
    include = root / "include" / "mdstream"
    lines, failed = [], False
    headers = sorted(path for path in include.rglob("*") if path.suffix in (".hpp", ".cuh"))
    defined = {path: set(public_names(path, declared=False)) for path in headers}
    for path in headers:
        header = path.relative_to(include)
        elsewhere = set().union(*(defined[other] for other in headers if other != path))
        found = [name for name in public_names(path) if name in defined[path] or name not in elsewhere]
        if is_private(header):
            for name in found:
                failed = True
                print(f"mdstream: {header}: {name} is in a private header and in a public namespace")
        else:
            lines.append(f"{header}: {' '.join(found)}".rstrip() + "\n")
    listed = root / "docs" / "api.txt"
    if "--write" in sys.argv:
        listed.write_text(HEAD + "".join(lines))
    else:
        kept = [line for line in listed.read_text().splitlines(keepends=True) if not line.startswith("#")]
        for line in sorted(set(kept) ^ set(lines)):
            failed = True
            print(f"mdstream: docs/api.txt {'has' if line in kept else 'lacks'} {line.rstrip()}")
    if not failed:
        count = sum(len(line.split()) - 1 for line in lines)
        print(f"mdstream: {len(lines)} public headers with {count} names, as docs/api.txt has them")
    sys.exit(failed)


main()
