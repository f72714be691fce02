#!/usr/bin/env python3
"""arguments.py PAGE: whether docs/python.md has every argument of the installed mosaicml-streaming, and PyTorch's data loader, with its default.

The page has a table for each class, under "## Arguments of CLASS". The first cell of a row has arguments as they stand in a call,
`name=default`, or `name` alone where the class has no default. StreamingDataLoader takes what PyTorch's DataLoader takes, whose arguments
and defaults differ between versions: there only names count, and the page may have more than this version.
"""
import inspect
import logging
import pathlib
import re
import sys
import warnings

warnings.simplefilter("ignore")
logging.disable(logging.WARNING)

from streaming import MDSWriter, Stream, StreamingDataLoader, StreamingDataset
from streaming.base.format.base.writer import Writer
from torch.utils.data import DataLoader

page = pathlib.Path(sys.argv[1]).read_text(encoding="utf-8")


def of_class(subject):
    """The arguments of a class's constructor as they stand in a call; those that `**kwargs` stands for are left out."""
    every = list(inspect.signature(subject.__init__).parameters.values())[1:]
    named = [each for each in every if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)]
    return {each.name if each.default is each.empty else f"{each.name}={each.default!r}" for each in named}


def of_writers():
    """What `**kwargs` of all writers takes: the names that it allows, each with the default where it is read."""
    source = inspect.getsource(Writer.__init__)
    allowed = re.search(r"arg not in \(([^)]*)\)", source)
    defaults = dict(re.findall(r"kwargs\.get\('(\w+)',\s*([^)]+)\)", source))
    return {f"{name}={defaults[name]}" for name in re.findall(r"'(\w+)'", allowed[1])}


def on_page(name):
    section = re.search(rf"^## Arguments of {name}\n(.*?)(?=^## )", page, re.M | re.S)
    cells = re.findall(r"^\| (`[^|]*`) \|", section[1] if section else "", re.M)
    return {each for cell in cells for each in re.findall(r"`([^`]*)`", cell)}


wanted = {"StreamingDataset": of_class(StreamingDataset), "Stream": of_class(Stream), "MDSWriter": of_class(MDSWriter) | of_writers()}
failures, count = [], 0
for name, arguments in wanted.items():
    count += len(arguments)
    failures += [f"{name} has the argument {each}, the page has not" for each in sorted(arguments - on_page(name))]
    failures += [f"the page has the argument {each}, {name} has not" for each in sorted(on_page(name) - arguments)]
assert {each.kind for each in inspect.signature(StreamingDataLoader.__init__).parameters.values()} >= {inspect.Parameter.VAR_KEYWORD}
names = {each.partition("=")[0] for each in of_class(DataLoader)}
count += len(names)
failures += [f"StreamingDataLoader has the argument {each}, the page has not" for each in sorted(names - on_page("StreamingDataLoader"))]
if failures or count < 50:
    sys.exit("\n".join(failures) or f"only {count} arguments were found")
print(f"mdstream: the page has all {count} arguments")
