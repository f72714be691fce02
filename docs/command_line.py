#!/usr/bin/env python3
"""docs/command_line.py MDSTREAM [--check]: writes docs/command-line.md from the help of the command line MDSTREAM.

With --check nothing is written, and the exit status is 1 where the page is not what the program says.
"""
import pathlib
import re
import subprocess
import sys

page = pathlib.Path(__file__).resolve().parent / "command-line.md"
program = sys.argv[1]


def help_of(*words):
    return subprocess.run([program, *words, "--help"], check=True, capture_output=True, text=True).stdout.strip()


def commands(*words):
    """Each command as its words, with the help that it prints; the commands of a group follow it."""
    found = re.search(r"^Subcommands:\n(.*)", help_of(*words), re.M | re.S)
    for name in re.findall(r"^ {2}([\w-]+)", found[1], re.M) if found else []:
        yield [*words, name], help_of(*words, name)
        yield from commands(*words, name)


def in_one_form(text):
    """Without how lines are broken; CLI11 writes a default as =1, from 2.4 on as [1]."""
    return re.sub(r" \[(\[?[^\s\[\]]+\]?)\](?=\s)", r"=\1", text).split()


text = """# The command line

Look at datasets, copy, verify, convert and write them, and take care of checkpoints, from a shell. [Install](install.md#the-command-line)
says how to build `mdstream`. This page is what `mdstream COMMAND --help` prints; `man mdstream` has the same.

A URL is a local path, or a URL of any [store](stores.md). Results go to standard output, messages to standard error. The exit status is 0 after
success, 1 for an error of the data or the store, 2 for a wrong command line, and 130 or 143 after a signal.
"""
for words, help_text in commands():
    text += f"\n{'#' * min(len(words) + 1, 3)} mdstream {' '.join(words)}\n\n```text\n{help_text}\n```\n"
if "--check" not in sys.argv:
    page.write_text(text, encoding="utf-8")
elif not page.exists() or in_one_form(page.read_text(encoding="utf-8")) != in_one_form(text):
    sys.exit("docs/command_line.py: docs/command-line.md is not what the command line says; run docs/command_line.py MDSTREAM")
