#!/usr/bin/env python3
"""tools/check-names.py [FOLDER]: each name of a function or type under include/ has one header.

Of two functions of one name that see each other, the includes that came before decide which is
called. So a name is refused where two headers define it in one namespace, in a namespace and one
around it, or in the `detail` of both. An overload set that is spread over headers by intent stands
in SPREAD, with what tells its members apart.
"""
import collections
import pathlib
import re
import sys

SPREAD = {
    "to_string": "each takes a type of its own header",
    "same_keys": "each takes a type of its own header, and is found through it",
    "column": "raw::column is a value; the schema's is a template, which no name without < > means",
    "read_column": "one takes a layout, one a configuration that no layout converts to",
}

WORDS_BEFORE_BRACKETS = {"requires", "noexcept", "decltype", "alignas", "explicit"}


def tokens(text):
    text = re.sub(r'R"(\w*)\((?:.|\n)*?\)\1"', '""', text)
    text = re.sub(r"//[^\n]*|/\*(?:.|\n)*?\*/|\"(?:\\.|[^\"\\\n])*\"|(?<!\w)'(?:\\.|[^'\\\n])+'",
                  lambda found: " " if found[0].startswith("/") else " 0 ", text)
    text = re.sub(r"^[ \t]*#(?:\\\n|[^\n])*", "", text, flags=re.MULTILINE)
    return re.findall(r"[A-Za-z_]\w*|\d[\w.']*|::|\[\[|\]\]|[^\s\w]", text)


def is_word(token):
    return re.match(r"[A-Za-z_]", token) is not None


def outline(statement):
    """A statement without attributes and without what stands in < >; brackets () stay, empty."""
    out, angles, rounds, attributes = [], 0, 0, 0
    for before, token in zip([""] + statement, statement):
        attributes += (token == "[[") - (token == "]]")
        if attributes or token == "]]":
            continue
        rounds += (token == "(") - (token == ")")
        if rounds == 0 or (rounds == 1 and token == "("):
            if token == "<" and before != "operator":
                angles += 1
            elif token == ">" and angles:
                angles -= 1
                if not angles:
                    out.append("<>")
            elif not angles and token != ")":
                out.append(token)
    return out


def defined(statement):
    """The name of the function or type that a statement with a body defines; None for others."""
    words = outline(statement)
    for keyword in ("class", "struct", "union", "enum"):
        if keyword in words and "(" not in words[words.index(keyword):]:
            names = words[words.index(keyword) + 1:]
            names = names[:names.index(":")] if ":" in names else names
            if "::" in names or "<>" in names:  # a member, or a form of a template
                return None
            names = [word for word in names if is_word(word) and word not in ("class", "struct", "final")]
            return names[-1] if names else None
    for i, token in enumerate(words):
        if token == "(" and i > 0 and words[i - 1] not in WORDS_BEFORE_BRACKETS:
            is_free = (is_word(words[i - 1]) and "operator" not in words[:i] and words[0] != ","
                       and words[max(i - 2, 0)] not in ("::", "~"))
            return words[i - 1] if is_free and "=" not in words[:i] else None
    return None


def declared_name(statement):
    """The name of the alias, concept, constant or function that a statement declares; None for others."""
    words = outline(statement)
    for keyword in ("using", "concept"):
        if keyword in words and "=" in words:
            return words[words.index("=") - 1]
    if "constexpr" in words and "=" in words and "(" not in words[:words.index("=")]:
        name = words[words.index("=") - 1]
        return None if name == "<>" else name
    if len(words) == 2 and words[0] in ("class", "struct"):
        return words[1]
    return defined(words) if "(" in words and words[0] != "static_assert" and "operator" not in words else None


def definitions(path, declared=False):
    """(namespace, name) of each definition at the level of namespaces; with what is only declared where asked."""
    scope, statement, rounds, braces = [], [], 0, 0
    for token in tokens(path.read_text()):
        if braces:
            braces += (token == "{") - (token == "}")
            continue
        rounds += (token == "(") - (token == ")")
        if token == "{":
            if "namespace" in statement and rounds == 0:
                scope.append([word for word in statement if is_word(word) and word not in ("inline", "namespace", "v0")])
                statement = []
                continue
            name = defined(statement) if rounds == 0 else None
            if declared and not name and rounds == 0:
                name = declared_name(statement)
            if name:
                yield "::".join(word for names in scope for word in names), name
            braces = 1
            # What follows a body may belong to it: `= [] {...}();`, `struct {...} name;`.
            if name or (rounds == 0 and "(" in outline(statement)):
                statement = []
        elif token == "}":
            scope.pop()
            statement = []
        elif token == ";" and rounds == 0:
            name = declared_name(statement) if declared else None
            if name:
                yield "::".join(word for names in scope for word in names), name
            statement = []
        else:
            statement.append(token)


def sees(inner, outer):
    """Whether code in one namespace finds the other's names, or a `detail` of the other's."""
    if inner.endswith("::detail") and outer.endswith("::detail"):
        inner, outer = inner.removesuffix("detail"), outer.removesuffix("detail")
    return inner == outer or inner.startswith(outer.removesuffix("::") + "::")


def main():
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent / "include"
    homes = collections.defaultdict(lambda: collections.defaultdict(set))  # name, namespace: headers
    for path in sorted(path for path in root.rglob("*") if path.suffix in (".hpp", ".cuh", ".ipp")):
        for namespace, name in definitions(path):
            home = str(path.relative_to(root))  # of what implements a header: that header
            homes[name][namespace].add(re.sub(r"detail/(impl/)?", "", home).replace(".ipp", ".hpp"))
    found = False
    for name, places in sorted(homes.items()):
        for inner in sorted(places):
            for outer in sorted(places):
                if name in SPREAD or not sees(inner, outer) or len(places[inner] | places[outer]) < 2:
                    continue
                found = True
                where = dict.fromkeys([inner, outer])
                print(f"{name}: " + "; ".join(f"{each} in {', '.join(sorted(places[each]))}" for each in where))
    sys.exit(found)


if __name__ == "__main__":
    main()
