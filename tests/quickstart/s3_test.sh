#!/usr/bin/env bash
# s3_test.sh PROGRAM WORK: a run whose datasets and checkpoints lie in a bucket, resumed from there with an
# empty cache, has to be the run that lies in a folder.
set -euo pipefail

program=$1 work=$2
train() { "$program" train --work "$1" --run "$2" --steps 60 --save-every 25 "${@:3}"; }

"$program" prepare --work "$work/folder"
train "$work/folder" calm

export QUICKSTART_STORE=s3://test/a/quickstart
"$program" prepare --work "$work/bucket"
train "$work/bucket" moved
[ ! -e "$work/bucket/store" ]
rm -r "$work/bucket/cache"
train "$work/bucket" moved --resume  # from step 50
cp "$work/folder/runs/calm.tsv" "$work/bucket/runs/"
"$program" compare --work "$work/bucket" --run calm --against moved
