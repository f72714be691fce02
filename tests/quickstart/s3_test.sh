#!/usr/bin/env bash
# s3_test.sh PROGRAM MDSTREAM WORK: a run whose datasets and checkpoints lie in a bucket, resumed from there with an
# empty cache, has to be the run that lies in a folder. So has one whose checkpoints were copied to a folder.
set -euo pipefail

program=$1 mdstream=$2 work=$3
train() { "$program" train --work "$1" --run "$2" --steps 60 --save-every 25; }
goes_on() {
  train "$@" 2>"$work/said.txt"
  grep "goes on at step 50 on 1 rank" "$work/said.txt"
}

"$program" prepare --work "$work/folder"
train "$work/folder" calm

export QUICKSTART_STORE=s3://test/a/quickstart
"$program" prepare --work "$work/bucket"
train "$work/bucket" moved
[ ! -e "$work/bucket/store" ]
rm -r "$work/bucket/cache"
goes_on "$work/bucket" moved
cp "$work/folder/runs/calm.tsv" "$work/bucket/runs/"
"$program" compare --work "$work/bucket" --run calm --against moved

# On a machine that has nothing but a copy of the checkpoints: its log begins where it goes on.
"$mdstream" copy "$QUICKSTART_STORE/checkpoints/moved" "$work/folder/store/checkpoints/back"
QUICKSTART_STORE='' goes_on "$work/folder" back
tail -n 10 "$work/folder/runs/calm.tsv" >"$work/folder/runs/end.tsv"
QUICKSTART_STORE='' "$program" compare --work "$work/folder" --run end --against back
