#!/usr/bin/env python3
"""option_fields.py HEADER: a loader's options are a dataset's and more, and a stream's are theirs where it has some.

Fields of one name have one type and one default in dataset_options and loader_options; what a stream may have of its
own is optional there, of the same type. So none is lost, and none differs unseen.
"""
import re
import sys

text = re.sub(r"//[^\n]*", "", open(sys.argv[1], encoding="utf-8").read())


def fields(struct):
    body = re.search(rf"struct {struct} \{{(.*?)\n\}};", text, flags=re.S)[1]
    found = {}
    for type_, name, default in re.findall(r"^  (\S[^;={]*?) (\w+)((?:\{[^;]*\}| = [^;]*)?);", body, flags=re.M):
        found[name] = (type_, "".join(default.split()))
    return found


dataset, loader, stream = (fields(f"{kind}_options") for kind in ("dataset", "loader", "stream"))
# What only random access has; and whose default is another, with why.
DATASET_ONLY = {"range_request_cost"}
OTHER_DEFAULT = {"warn"}  # a loader's observer is told first

wrong = []
for name, (type_, default) in dataset.items():
    if name in DATASET_ONLY:
        if name in loader:
            wrong.append(f"{name} is in loader_options, too")
    elif name not in loader:
        wrong.append(f"loader_options has no {name}")
    elif loader[name][0] != type_ or (loader[name][1] != default) != (name in OTHER_DEFAULT):
        wrong.append(f"{name}: {type_} {default} in dataset_options, {' '.join(loader[name])} in loader_options")
for name, (type_, _) in stream.items():
    if name in dataset and type_ not in (dataset[name][0], f"std::optional<{dataset[name][0]}>"):
        wrong.append(f"{name}: {dataset[name][0]} in dataset_options, {type_} in stream_options")
for each in wrong:
    print(f"mdstream: {each}")
if wrong or len(dataset) < 10 or len(loader) < 25 or len(stream) < 10:
    sys.exit(f"mdstream: options of {len(dataset)}, {len(loader)} and {len(stream)} fields do not agree")
print(f"mdstream: {len(dataset)} options of a dataset, {len(loader)} of a loader, {len(stream)} of a stream agree")
