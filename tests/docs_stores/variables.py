#!/usr/bin/env python3
"""variables.py: every environment variable that a page on stores names is set by a test."""
import pathlib
import re
import sys

tests = pathlib.Path(__file__).resolve().parent.parent
docs = tests.parent / "docs"
pages = [docs / "stores.md", *sorted((docs / "stores").glob("*.md"))]
no_variables = {"INTELLIGENT_TIERING"}  # a storage class


def named_on(page):
    """The variables in code; `…_URL` is one that ends so and begins like the last one in full. What is not supported needs no test."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8").split("\n## Not supported")[0], flags=re.S)
    last = ""
    for name in re.findall(r"`(…?\w+)`", text):
        if re.fullmatch(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)+|[a-z]+_proxy", name) and name not in no_variables:
            last = name
            yield name
        elif name.startswith("…_") and name.isupper():
            yield last.split("_")[0] + name


def pattern_of(name):
    """How the languages of the tests set a variable: {"NAME", "x"}, "NAME": x, NAME=x, ["NAME"] = x, or one of {"A", "NAME"}."""
    name = name.replace("…", r"\w*")
    return re.compile(rf"""["']{name}["']\s*[,:}}]|(?<![\w$]){name}=|["']{name}["']\]\s*=""")


def main():
    sources = [path.read_text(encoding="utf-8") for path in sorted(tests.rglob("*"))
               if path.suffix in (".cpp", ".hpp", ".py", ".sh") and path != pathlib.Path(__file__).resolve()]
    found, missing = set(), []
    for page in pages:
        for name in named_on(page):
            if name in found or any(name.split("…")[-1] in text and pattern_of(name).search(text) for text in sources):
                found.add(name)
            else:
                missing.append(f"docs/{page.relative_to(docs)}: no test sets {name}")
    print("\n".join(sorted(set(missing)) or [f"{len(found)} variables are set by tests"]))
    sys.exit(bool(missing) or len(found) < 50)


if __name__ == "__main__":
    main()
