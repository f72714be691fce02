#!/usr/bin/env python3
"""docs/options.py [--check]: writes the tables of options on the pages, from the structs of the public headers and their comments.

A page names a struct, and the structs whose comments hold for members of the same name that have none of their own:

    <!-- options loader_options, as dataset_options -->

The table follows it. Every struct of options (OPTIONS) is on exactly one page, and every member has a comment. With --check nothing
is written, and the exit status is 1 where a page differs.
"""
import pathlib
import re
import sys

docs = pathlib.Path(__file__).resolve().parent
include = docs.parent / "include/mdstream"
OPTIONS = re.compile(r"(?:\w+_)?options|\w+_(?:policy|rules|limits|phase|weight|settings)|padding|packing|world|column|writer_part")
# Structs of such names that no user fills in: what the library makes of options, and a column of a schema.
NOT_OPTIONS = {"azure_settings", "dbfs_settings", "oci_settings", "s3_settings", "cache_options", "format::column"}
UNITS = {"nanoseconds": "ns", "milliseconds": "ms", "seconds": "s", "minutes": "min", "hours": "h"}
# Constants that stand for a value.
CONSTANTS = {"default_patience": "15 min", "&warn_on_stderr": "standard error", "nullptr": "none", "fileno(stderr)": "standard error",
             "net::process_environment()": "the process's", "patient_parts": "`patient_parts`", "detail::current_device": "the current one"}
# What `{}` means for a type, if the comment does not say more.
EMPTY = {"byte_size": "`0`", "sample_count": "`0`", "store_target": "required"}
NOTHING = {"std::string": '`""`', "std::vector": "`{}`", "std::optional": "not set", "std::function": "none"}


class member:
    def __init__(self, type, name, value, comment):
        self.type, self.name, self.value, self.comment = type, name, value, comment


def struct_body(text, name):
    """What is between the braces of a struct, or nothing."""
    found = re.search(rf"^( *)struct {name}(?: :[^{{;]*)? {{[^\n]*\n(.*?)^\1}};", text, re.M | re.S)
    return found and found[2]


def members(body):
    """The data members of a struct, each with its comment as one line."""
    body = re.split(r"^ *(?:constexpr|friend|static|operator|void|\[\[nodiscard\]\])", body, maxsplit=1, flags=re.M)[0]
    above, found = [], []
    lines = iter(body.splitlines())
    for line in lines:
        line = line.strip()
        if line.startswith("///<"):
            found[-1].comment += " " + line[4:].strip()
        elif line.startswith("///"):
            above.append(line[3:].strip())
        elif line:
            while ";" not in line:
                line += " " + next(lines).strip()
            code, _, beside = line.partition("///<")
            declared = re.fullmatch(r"(?P<type>(?:const )?[\w:]+(?:<.*>)?\*?) (?P<rest>\w.*);", code.strip())
            if declared is None:
                sys.exit(f"docs/options.py: is this a member: {line}")
            comment = " ".join([*above, beside.strip()]).strip()
            several = re.fullmatch(r"\w+\{\}(?:, \w+\{\})+", declared["rest"])
            for one in declared["rest"].split(", ") if several else [declared["rest"]]:
                name, value = re.fullmatch(r"(\w+) *(?:= *)?(.*)", one).groups()
                found.append(member(declared["type"], name, value, comment))
            above = []
    return found


def shown(each):
    """The default as a reader writes or reads it; nothing if the comment has to say it."""
    value = each.value
    if not value:
        return "required"
    if value in CONSTANTS:
        return CONSTANTS[value]
    if value == "{}":
        return EMPTY.get(re.sub(r"<.*", "", each.type))
    if power := re.fullmatch(r"\{?std::uint64_t\{(\d+)\} << (\d+)\}?", value):
        number, power = map(int, power.groups())
        return f"{number << power % 10} {('B', 'KiB', 'MiB', 'GiB')[power // 10]}" if "byte" in each.type else f"{number << power:,}"
    if size := re.fullmatch(r"\{?(\d+)_([KMG]i?B)\}?", value):
        return f"{size[1]} {size[2]}"
    if duration := re.fullmatch(r"std::chrono::(\w+)\((\d+)\)", value):
        return f"{duration[2]} {UNITS[duration[1]]}"
    if "std::chrono" in each.type and value == "{0}":
        return "0"
    if product := re.fullmatch(r"(\d+) \* (\d+)", value):
        return f"{int(product[1]) * int(product[2]):,}"
    if re.fullmatch(r"\d{5,}", value):
        return f"`{value}`"
    value = re.sub(r"std::chrono::(\w+)\((\d+)\)", lambda found: f"{found[2]} {UNITS[found[1]]}", value)
    value = re.sub(r"^(?:[a-z]\w*::)+(?=[a-z_]+$)", "", value)  # an enumerator
    return f"`{value}`"


def default_and_text(each):
    """The two cells: a comment's sentence about the default moves to its own column."""
    default, text = shown(each), each.comment
    said = re.search(r"(?:^|(?<=[.;] ))(?:The default|Default|default)(?: \(or 0\))?(?: is |: )(.+?)(?:[.;](?= |$)|$) ?", text)
    if said and default is None:
        default, text = said[1], (text[:said.start()].rstrip(" ;") + " " + text[said.end():]).strip()
    if default is None:
        default = NOTHING.get(re.sub(r"<.*", "", each.type), "none")
    return default, text


def cell(text):
    """A text of the headers as a cell of a table."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else code(part) for part in parts).replace("|", r"\|")


def code(text):
    """A text whose names, paths and values are marked as code."""
    text = re.sub(r"[*<>\[\]]", r"\\\g<0>", text)
    return re.sub(r"(?<![\w/])(?:~/[\w./]+\w|\w[\w.]*_[\w.]*\w|\w+/\w+\.hpp|\{\"[^}]*\}|\"[\w:]+\")", r"`\g<0>`", text)


def structs():
    """Name -> body, of all public structs of options."""
    found = {}
    for header in sorted(include.rglob("*.hpp")):
        text = header.read_text(encoding="utf-8")
        space = re.search(r"^namespace mdstream::inline v0(?:::(\w+))?", text, re.M)
        for name in re.findall(r"^ *struct (\w+)(?: :[^{;]*)? {", text, re.M):
            if OPTIONS.fullmatch(name) and ("detail" not in header.parts or name == "cloud_options"):
                inside = header.stem if re.search(rf"^ +struct {name} {{", text, re.M) else space and space[1]
                full = f"{inside or header.parent.name}::{name}" if name in ("options", "column") else name
                if full not in NOT_OPTIONS:
                    found[full] = struct_body(text, name)
    return found


def table(name, same, known):
    others = {each.name: each for other in reversed(same) for each in members(known[other])}
    rows = ["| option | default | what it is |", "|---|---|---|"]
    for each in members(known[name]):
        other = others.get(each.name)
        if other and (inherited := each.type == f"std::optional<{other.type}>"):
            each.comment = other.comment
        elif other and not each.comment:
            each.comment = other.comment
        if not each.comment:
            sys.exit(f"docs/options.py: {name}::{each.name} has no comment")
        default, text = ("the loader's", each.comment) if other and inherited else default_and_text(each)
        rows.append(f"| `{each.name}` | {cell(default) if not default.startswith('`') else default} | {cell(text)} |")
    return "\n".join(rows) + "\n"


def main():
    known, seen, differs = structs(), {}, []
    for page in sorted(docs.rglob("*.md")):
        text = page.read_text(encoding="utf-8")

        def write(found):
            name, same = found[2], re.split(r", *", found[3]) if found[3] else []
            if name not in known or name in seen:
                sys.exit(f"{page}: {name} is no struct of options, or on {seen.get(name)}, too")
            seen[name] = page
            return found[1] + table(name, same, known)

        new = re.sub(r"^(<!-- options ([\w:]+)(?:, as ([\w:, ]+))? -->\n)(?:\|.*\n)*", write, text, flags=re.M)
        if new != text:
            differs.append(page.relative_to(docs.parent))
            if "--check" not in sys.argv:
                page.write_text(new, encoding="utf-8")
    if missing := sorted(known.keys() - seen.keys()):
        sys.exit(f"docs/options.py: on no page: {', '.join(missing)}")
    if differs and "--check" in sys.argv:
        sys.exit(f"docs/options.py: tables of options are not what the headers say: {', '.join(map(str, differs))}; run docs/options.py")
    print(f"mdstream: {len(seen)} tables of options are what the headers say")


if __name__ == "__main__":
    main()
