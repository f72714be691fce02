#!/usr/bin/env bash
# short_test.sh BIN WORK: the short examples, one after the other as a reader would run them, and what each has to print.
# Under tests/servers/with.sh, which has a bucket.
set -euo pipefail

bin=$1
rm -rf "$2"
mkdir -p "$2"
cd "$2"
# Its cache, which goes with the directory.
export TMPDIR=$2/temporary
mkdir "$TMPDIR"
# prints PATTERN NAME [WORD...]: the program succeeds and prints a line that matches.
prints() {
  local said
  said=$("$bin/short_$2" "${@:3}") || { echo "$2 failed: $said" >&2; exit 1; }
  grep -Eqx -- "$1" <<<"$said" || { echo "$2: no line is '$1': $said" >&2; exit 1; }
}

"$bin/short_write"
prints '5000 samples, [0-9]+ bytes of text, 2500 of them positive' read
prints '4800 reviews, 1600 questions' mix
prints 'batch 0 begins with sample [0-9]+' resume
prints 'batch 20 begins with sample [0-9]+' resume
prints '"reviews number 1234" has label 0' random_access
prints '4500 samples to train on, 500 to validate' random_access
prints '2 words: [a-z0-9]+ [a-z0-9]+ ' transform
prints '[0-9]+ tokens in [0-9]+ rows, [78][0-9] % full' packed_rows
prints 'sample 17 of 1000 is 17' own_store
prints 'the sum of s3://test/.* is 49995000' s3 "$MDSTREAM_TEST_URL/numbers"
