"""Sphinx extension: the reference's pages, from docs/api.txt and the comments that Doxygen has read.

A page of the reference names the headers of its subject, one a line:

    ```{public}
    core/error.hpp
    ```

In its place come the names of each header with their comments. The build fails where a header of docs/api.txt stands
on no page or on two, where a public name has no comment, and where docs/troubleshooting.md lacks an error code.
"""

import pathlib
import re
import xml.etree.ElementTree as ElementTree

from sphinx.errors import ExtensionError

docs = pathlib.Path(__file__).resolve().parent
xml = docs.parent / "build/docs/xml"
NO_PAGE = {"src.hpp"}  # defines nothing that a header does not declare

# Directive of Breathe by Doxygen's kind.
DIRECTIVES = {"class": "doxygenclass", "struct": "doxygenstruct", "concept": "doxygenconcept", "enum": "doxygenenum",
              "typedef": "doxygentypedef", "variable": "doxygenvariable", "function": "doxygenfunction"}


class names:
    """What Doxygen knows of each name: (kind, header, arguments of a function, whether it has a comment)."""

    def __init__(self):
        self.found = {}
        for entry in ElementTree.parse(xml / "index.xml").getroot():
            if entry.get("kind") in ("class", "struct", "concept"):
                self.add(self.definition(entry.get("refid")), entry.get("kind"), entry.findtext("name"))
            elif entry.get("kind") == "namespace":
                for member in self.definition(entry.get("refid")).iter("memberdef"):
                    self.add(member, member.get("kind"), f"{entry.findtext('name')}::{member.findtext('name')}")

    @staticmethod
    def definition(refid):
        return ElementTree.parse(xml / f"{refid}.xml").getroot().find("compounddef")

    def add(self, definition, kind, name):
        texts = [definition.find(tag) for tag in ("briefdescription", "detaileddescription")]
        told = any("".join(each.itertext()).strip() for each in texts if each is not None)
        header = definition.find("location").get("file").removeprefix("include/").removeprefix("mdstream/")
        arguments = ", ".join("".join(each.find("type").itertext()) for each in definition.findall("param"))
        self.found.setdefault(name, []).append((kind, header, arguments, told))


def listed():
    """Header -> its public names, of docs/api.txt."""
    lines = (docs / "api.txt").read_text(encoding="utf-8").splitlines()
    return {header: rest.split() for header, _, rest in (line.partition(":") for line in lines if line[0] != "#")}


def tags(header):
    """What a header declares and nobody defines, which Doxygen leaves out: name -> comment."""
    text = (docs.parent / "include/mdstream" / header).read_text(encoding="utf-8")
    return dict(re.findall(r"^struct (\w+); +///< (.+)$", text, flags=re.MULTILINE))


def directives(header, known):
    """The directives for the names of one header; the names that have no comment."""
    out, silent = [f"## `<mdstream/{header}>`\n"], []
    for name in listed()[header]:
        own = [each for each in known.found.get(f"mdstream::{name}", []) if each[1] == header]
        if not own and (tag := tags(header).get(name)):
            out.append(f"- `mdstream::{name}`: {tag}")
            continue
        if not any(told for *_, told in own):
            silent.append(f"{name} of {header}")
            continue
        overloaded = len(known.found[f"mdstream::{name}"]) > 1
        for kind, _, arguments, told in own:
            if told:
                full = f"mdstream::{name}" + (f"({arguments})" if kind == "function" and overloaded else "")
                out.append(f"```{{{DIRECTIVES[kind]}}} {full}\n```\n")
    return "\n".join(out), silent


def read_page(app, page, source):
    def expand(block):
        for header in block[1].split():
            if header not in app.public_names_left:
                raise ExtensionError(f"{page}: {header} is not in docs/api.txt, or on a page already")
            app.public_names_left.discard(header)
        parts = [directives(header, app.public_names_known) for header in block[1].split()]
        app.public_names_silent += [name for _, silent in parts for name in silent]
        return "\n".join(text for text, _ in parts)

    source[0] = re.sub(r"^```\{public\}\n((?:[\w./]+\n)+)```$", expand, source[0], flags=re.MULTILINE)


def begin(app):
    app.public_names_known = names()
    app.public_names_left = {header for header, found in listed().items() if found and header not in NO_PAGE}
    app.public_names_silent = []


def check(app, _environment):
    if app.public_names_left:
        raise ExtensionError(f"on no page of the reference: {', '.join(sorted(app.public_names_left))}")
    if app.public_names_silent:
        raise ExtensionError(f"public names without a comment: {', '.join(sorted(app.public_names_silent))}")
    header = (docs.parent / "include/mdstream/core/error.hpp").read_text(encoding="utf-8")
    codes = re.findall(r"^  (\w+)(?: = \d+)?,", header.partition("enum class errc {")[2].partition("};")[0], re.MULTILINE)
    page = (docs / "troubleshooting.md").read_text(encoding="utf-8")
    if missing := [code for code in codes if f"| `errc::{code}` |" not in page]:
        raise ExtensionError(f"docs/troubleshooting.md has no row for {', '.join(missing)}")


def setup(app):
    app.connect("builder-inited", begin)
    app.connect("source-read", read_page)
    app.connect("env-check-consistency", check)
    return {"parallel_read_safe": False}
