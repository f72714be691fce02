#!/usr/bin/env python3
"""docs/words.py [PAGE...]: whether pages use one word for one thing, and short sentences. Without pages: all of docs/, README, CONTRIBUTING, and
the comments of all headers.

Notes and tables may have long sentences. Code is not looked at, be it a block or between backticks. Each finding names the line, the words, and
what to say instead. Of a header's comments only PERSONS are refused: code is no person.
"""
import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parent.parent

# What is not to appear -> what to say.
INSTEAD = {
    r"who(m)?ever": "the process that, the program that",
    r"who (lets in|has to|wants|gives|unmaps|asks|reads|calls|needs|maps|supplied)": "name the program, thread or person",
    r"(may|might|will) pass": "a transient error",
    r"what (helps|does not help)": "a permanent error",
    r"(no|new|old|your|whose|their|have|has|gets|gave|send|which|with) keys( that)?": "credentials",
    r"keys (that|which|may|of nobody)": "credentials",
    r"key supply|lets? in": "credentials, a credentials provider",
    r"(put|puts|putting) together": "build a batch, batch assembly",
    r"(got|get|gets|getting) ready|made ready": "prefetch, prepare",
    r"filling": "padding",
    r"overlong": "longer than the row",
    r"crew": "thread pool",
    r"journeys?": "fetch",
    r"let go|lets go": "evict, release",
    r"lies? there|as (it|they) lies?|lies? (here|near)|lay there": "cached, on disk, in memory, as it is",
    r"where there is (one|none)|in the making": "optional, if set; temporary",
    r"unset": "not set, the default is",
    r"processor (seconds|time)": "CPU time",
    r"(is|are|was|be) told( of| about)?(?! apart)": "gets, receives",
    r"can not": "cannot",
    r"(is|are|be|was) none": "say what it is instead",
    r"may so|can so|are so as": "therefore",
    r"for ever|as ever": "always, as before",
    r"in mid-\w+": "during",
    r"believes?|believed": "accept, check",
    r"at hand": "current",
    r"out of order": "unavailable",
    r"hears?( of)?": "gets, takes, is called for",
    r"(go|goes|going|went) on from": "resume from, continue from",
    r"comes? about": "is made",
    r"counted round": "cyclically",
    r"of one's own": "of your own",
    r"there(by|of|upon|to)|where(by|upon|of)": "two sentences",
}
PERSONS = re.compile(r"\bwho(m|ever|mever)?\b", re.I)
LONGEST = 34  # words of a sentence
FOUND = re.compile("|".join(f"(?P<w{number}>\\b(?:{words})\\b)" for number, words in enumerate(INSTEAD)), re.I)
ADVICE = list(INSTEAD.values())


def prose(text):
    """The text with everything that is code, a link's target or a comment blanked out, line by line."""
    blank = lambda found: re.sub(r"[^\n]", " ", found[0])
    for code in (r"^(`{3,}|~{3,}).*?^\1$", r"<!--.*?-->", r"`[^`]+`", r"\]\([^)]*\)"):
        text = re.sub(code, blank, text, flags=re.M | re.S)
    return text


def findings(page):
    text = prose(page.read_text(encoding="utf-8"))
    for found in FOUND.finditer(text):
        line = text[:found.start()].count("\n") + 1
        yield f"{page.relative_to(root)}:{line}: \"{found[0]}\": say: {ADVICE[int(found.lastgroup[1:])]}"
    for paragraph in re.finditer(r"(?:^(?!\||\s*$|#|:).*\n?)+", text, re.M):
        for sentence in re.split(r"(?<=[.:;?!·])\s|^\s*(?:[-*]|\d+\.)\s", paragraph[0], flags=re.M):
            if len(sentence.split()) > LONGEST:
                line = text[:paragraph.start()].count("\n") + 1
                yield f"{page.relative_to(root)}:{line}: a sentence of {len(sentence.split())} words: {' '.join(sentence.split()[:8])} ..."


def findings_of_header(header):
    for number, line in enumerate(header.read_text(encoding="utf-8").splitlines(), 1):
        comment = re.sub(r"`[^`]*`", "", (re.search(r"(?:^|[\s;{}])//.*", line) or [""])[0])
        if found := PERSONS.search(comment):
            yield f"{header.relative_to(root)}:{number}: \"{found[0]}\": say: the process, thread, caller or user that ..."


def findings_of_glossary(pages):
    """Words that a page introduces, as *shard* or *shards*, and the glossary lacks; entries that are not in their order."""
    glossary = root / "docs/glossary.md"
    text = glossary.read_text(encoding="utf-8")
    entries = re.findall(r"^(\S.*)\n:", text, re.M)
    for before, after in zip(entries, entries[1:]):
        if before.lower() >= after.lower():
            yield f"docs/glossary.md: \"{after}\" stands behind \"{before}\""
    known = {entry.lower() for entry in entries} | set(re.findall(r"\*([^*\n]+)\*", text))
    for page in pages:
        for word in re.findall(r"(?<![*\w])\*([A-Za-z][\w ]*)\*(?![*\w])", prose(page.read_text(encoding="utf-8"))):
            if not {word.lower(), word.lower().removesuffix("s")} & known:
                yield f"{page.relative_to(root)}: *{word}* is not in docs/glossary.md"


def main():
    pages = [pathlib.Path(name).resolve() for name in sys.argv[1:]]
    pages = pages or [root / "README.md", root / "CONTRIBUTING.md", *sorted((root / "docs").rglob("*.md"))]
    failures = [line for page in pages if "notes" not in page.parts for line in findings(page)]
    failures += [] if sys.argv[1:] else findings_of_glossary([page for page in pages if "notes" not in page.parts])
    headers = [] if sys.argv[1:] else sorted(each for each in (root / "include").rglob("*") if each.suffix in (".hpp", ".ipp", ".cuh"))
    failures += [line for header in headers for line in findings_of_header(header)]
    print("\n".join(failures) or f"mdstream: {len(pages)} pages use the words of the glossary, {len(headers)} headers speak of code as code")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
