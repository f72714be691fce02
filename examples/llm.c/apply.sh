#!/usr/bin/env bash
# apply.sh DIRECTORY: gives the checkout of llm.c in DIRECTORY a program train_gpt2_mdstream.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
[ $# -eq 1 ] && [ -f "$1/train_gpt2.c" ] || { echo "usage: apply.sh DIRECTORY, a checkout of llm.c" >&2; exit 2; }
patch --directory="$1" --strip=1 --forward <"$here/train_gpt2.patch"
cp "$here"/mdstream_dataloader.{h,cpp} "$1/llmc/"
