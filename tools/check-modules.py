#!/usr/bin/env python3
"""Checks the structure of include/mdstream/ against what docs/ says of it.

1. A module includes only modules that its row of the table in docs/architecture.md names, and no
   module reaches up: a row may only name modules of its own layer or of a lower one, without cycles.
2. Modules of plain code (the second table) hold no class template, but for those named in
   docs/class-templates.txt, which names none that is gone.

    tools/check-modules.py [DIRECTORY] [--list-templates]

DIRECTORY has include/ and docs/, by default the project's. Prints every violation with file and line, and
exits with 1 where there is one. Costs a second.
"""

import pathlib
import re
import sys

arguments = [each for each in sys.argv[1:] if not each.startswith("-")]
project = pathlib.Path(arguments[0]) if arguments else pathlib.Path(__file__).resolve().parent.parent
headers = project / "include" / "mdstream"
architecture = project / "docs" / "architecture.md"
exceptions_file = project / "docs" / "class-templates.txt"

failures = []


def fail(where, what):
    failures.append(f"{where}: {what}")


def lines_of(path):
    return path.read_text(encoding="utf-8").splitlines()


def modules_of_table():
    """The table of modules: name -> (layer, what it may use, whether it is plain code)."""
    modules = {}
    for number, line in enumerate(lines_of(architecture), 1):
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) != 5 or not cells[0].isdigit():
            continue
        for name in re.findall(r"`([\w.]+)/?`", cells[1]):
            modules[name] = (int(cells[0]), cells[3], cells[4] == "plain", number)
    return modules


def allowed(name, modules):
    """The modules that `name` may use, as the table's words say it."""
    layer, words, _, line = modules[name]
    if words == "nothing":
        return set()
    out = {word.strip(" `/") for word in words.split(",")}
    if "all below" in out:
        out = out - {"all below"} | {other for other, (of, *_) in modules.items() if of < layer}
    for other in out - modules.keys():
        fail(f"{architecture.relative_to(project)}:{line}", f"`{name}` may use `{other}`, which the table lacks")
    out &= modules.keys()
    for other in out:
        if modules[other][0] > layer:
            fail(f"{architecture.relative_to(project)}:{line}", f"`{name}` may use `{other}` of a layer above it")
    return out


def module_of(header):
    return header.split("/")[0]


def check_includes(modules):
    uses = {name: allowed(name, modules) for name in modules}
    for path in sorted(headers.rglob("*")):
        if not path.is_file():
            continue
        name = module_of(str(path.relative_to(headers)))
        if name not in modules:
            fail(path.relative_to(project), f"the table of docs/architecture.md has no row for `{name}`")
            continue
        for number, line in enumerate(lines_of(path), 1):
            include = re.match(r'\s*#\s*include\s*[<"]mdstream/([^>"]+)[>"]', line)
            if not include:
                continue
            other = module_of(include[1])
            if other not in (name, "version.hpp") and other not in uses[name]:
                fail(f"{path.relative_to(project)}:{number}",
                     f"`{name}` may not include <mdstream/{include[1]}> (docs/architecture.md)")
    for name in modules:  # cycles within a layer
        seen, todo = set(), [name]
        while todo:
            for other in uses[todo.pop()] - seen:
                seen.add(other)
                todo.append(other)
        if name in seen:
            fail("docs/architecture.md", f"`{name}` may use itself by way of others")


comment = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)


def class_templates(text):
    """(line, name) of every class template, specialisations left out."""
    text = comment.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    for start in re.finditer(r"\btemplate\s*<", text):
        at, depth = start.end(), 1
        while depth and at < len(text):
            depth += {"<": 1, ">": -1}.get(text[at], 0) if text[at - 1:at + 1] != "->" else 0
            at += 1
        rest = text[at:]
        rest = re.sub(r"^\s*requires\s+.*?(?=\b(?:class|struct|union)\b|[;{])", "", rest, flags=re.S)
        found = re.match(r"\s*(?:class|struct|union)\s+(?:\[\[[^\]]*\]\]\s*)?(\w+)\s*(?:final\s*)?(?=[:{])", rest)
        if found:
            yield text.count("\n", 0, start.start()) + 1, found[1]


def check_templates(modules):
    excepted = {}
    if exceptions_file.exists():
        for line in lines_of(exceptions_file):
            words = line.split("#")[0].split()
            if words:
                excepted[words[0]] = set(words[1:])
    found = {}
    for path in sorted(path for path in headers.rglob("*") if path.suffix in (".hpp", ".ipp")):
        name = str(path.relative_to(headers))
        if not modules.get(module_of(name), (0, "", False))[2]:
            continue
        for line, template in class_templates(path.read_text(encoding="utf-8")):
            found.setdefault(name, set()).add(template)
            if template not in excepted.get(name, ()):
                fail(f"{path.relative_to(project)}:{line}",
                     f"`{template}` is a class template in a module of plain code (docs/architecture.md); erase "
                     "what runs per shard behind a small interface")
    for name, templates in excepted.items():
        for template in sorted(templates - found.get(name, set())):
            fail(exceptions_file.relative_to(project), f"{name} has no class template `{template}`: take it off the list")
    return found


def main():
    modules = modules_of_table()
    if not modules:
        sys.exit("tools/check-modules.py: docs/architecture.md has no table of modules")
    check_includes(modules)
    found = check_templates(modules)
    if "--list-templates" in sys.argv[1:]:
        for name, templates in found.items():
            print(name, *sorted(templates))
        return
    for failure in failures:
        print(f"mdstream: {failure}")
    if failures:
        sys.exit(1)
    print(f"mdstream: {len(modules)} modules include only what docs/architecture.md lets them")


if __name__ == "__main__":
    main()
