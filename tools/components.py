#!/usr/bin/env python3
"""tools/components.py [--check]: writes what else lists the components: the table of docs/install.md and the features of the vcpkg port.

Both come from the tables of cmake/MdstreamDependencies.cmake. With --check nothing is written, and the exit status is 1 where
a file is not what this script would write.
"""
import json
import pathlib
import re
import shlex
import sys

root = pathlib.Path(__file__).resolve().parent.parent
PAGE = root / "docs" / "install.md"
PORT = root / "cmake" / "vcpkg" / "mdstream" / "vcpkg.json"
KEYS = {"TITLE", "HEADER", "LIBRARY", "OLDEST", "VERSION_IN", "ROOT", "DEBIAN", "FEDORA", "VCPKG", "PKG_CONFIG"}
SSH = "curl[ssh]"  # vcpkg's libcurl has SFTP by this feature alone


def calls(text, name):
    """The arguments of each call of the command, in its order."""
    return [shlex.split(found[1]) for found in re.finditer(rf"^{name}\(((?:[^\"\n]|\n|\"[^\"]*\")*?)\)$", text, re.M)]


def read_tables():
    """{library: {key: value}} and {component: (header, purpose, [library])}, in the file's order."""
    text = re.sub(r"^#.*\n", "", (root / "cmake" / "MdstreamDependencies.cmake").read_text(encoding="utf-8"), flags=re.M)
    libraries = {}
    for name, *words in calls(text, "mdstream_library"):
        key = None
        for word in words:
            if word in KEYS:
                key = word
            else:
                libraries.setdefault(name, {}).setdefault(key, word)
    needs = {name: (header, purpose, names) for name, header, purpose, *names in calls(text, "mdstream_needs")}
    lists = {name: names for name, *names in calls(text, "set") if name.endswith("_components")}
    full, other = lists["mdstream_full_components"], lists["mdstream_other_components"]
    if list(needs) != ["core", *full, *other]:
        sys.exit("tools/components.py: the components of MdstreamDependencies.cmake and its lists of them differ")
    for name, (header, _, names) in needs.items():
        if not (root / "include" / "mdstream" / header).exists():
            sys.exit(f"tools/components.py: component {name}: no include/mdstream/{header}")
        for library in set(names) - set(libraries):
            sys.exit(f"tools/components.py: component {name}: no library {library}")
    return libraries, needs, full


def ports(component, libraries, names):
    found = list(dict.fromkeys(libraries[name]["VCPKG"] for name in names))
    return [SSH if component == "sftp" and port == "curl" else port for port in found]


def table(libraries, needs, full):
    lines = ["| target | for | header | library, oldest version | Debian, Ubuntu | Fedora, RHEL | vcpkg |", "|---|---|---|---|---|---|---|"]
    for component, (header, purpose, names) in needs.items():
        each = lambda key: "<br>".join(dict.fromkeys(libraries[name][key] for name in names))
        versions = "<br>".join(dict.fromkeys(f"{libraries[name]['TITLE']} {libraries[name].get('OLDEST', '')}".strip() for name in names))
        row = [f"`mdstream::{'mdstream' if component == 'core' else component}`", purpose, f"`<mdstream/{header}>`", versions, each("DEBIAN"), each("FEDORA"),
               "<br>".join(f"`{port}`" for port in ports(component, libraries, names))]
        lines.append("| " + " | ".join(row) + " |")
        if component == full[-1]:
            lines.append("| `mdstream::full` | All above | `<mdstream/full.hpp>` | | | | |")
    return "\n".join(lines) + "\n"


def as_dependency(port):
    name, _, features = port.partition("[")
    return {"name": name, "features": features.rstrip("]").split(",")} if features else name


def features(libraries, needs, full):
    out = {name: {"description": purpose, "dependencies": [as_dependency(port) for port in ports(name, libraries, names)]}
           for name, (_, purpose, names) in needs.items() if name != "core"}
    out["full"] = {"description": "All but json, parquet, cuda and nvjpeg",
                   "dependencies": [{"name": "mdstream", "default-features": False, "features": full}]}
    return "".join(f"    {json.dumps(name)}: {json.dumps(each)},\n" for name, each in out.items()).rstrip(",\n") + "\n"


def replaced(path, pattern, text):
    before = path.read_text(encoding="utf-8")
    after, count = re.subn(pattern, lambda found: found[1] + text, before, flags=re.S)
    if count != 1:
        sys.exit(f"tools/components.py: {path.relative_to(root)} has no place for the components")
    return before, after


def main():
    libraries, needs, full = read_tables()
    wrong = []
    for path, pattern, text in [(PAGE, r"()^\| target \|.*?\n(?=\n)".replace("^", "(?m:^)"), table(libraries, needs, full)),
                                (PORT, r'("features": \{\n).*?(?=  \}\n)', features(libraries, needs, full))]:
        before, after = replaced(path, pattern, text)
        if before == after:
            continue
        if sys.argv[1:] == ["--check"]:
            wrong.append(str(path.relative_to(root)))
        else:
            path.write_text(after, encoding="utf-8")
    if wrong:
        sys.exit(f"tools/components.py: it would write {' and '.join(wrong)} anew")


main()
