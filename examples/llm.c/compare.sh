#!/usr/bin/env bash
# compare.sh DIRECTORY [TEXT]: trains a small model with llm.c's own loader and with mdstream's, in the checkout that apply.sh
# has patched, on the bytes of TEXT, and compares all that they print but the times. Needs make, a C and a C++ compiler,
# Python and an installed mdstream that pkg-config finds.
set -euo pipefail
[ $# -ge 1 ] && [ -f "$1/llmc/mdstream_dataloader.h" ] || { echo "usage: compare.sh DIRECTORY [TEXT], after apply.sh DIRECTORY" >&2; exit 2; }
text=$(realpath "${2:-$1/README.md}")
cd "$1"
make NO_GPU=1 train_gpt2 train_gpt2_mdstream
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/tokens"

# What train_gpt2.py and dev/data write, for a model of two layers and for tokens that are bytes.
python3 - "$text" "$work" <<'PYTHON'
import pathlib, random, struct, sys

text, work = pathlib.Path(sys.argv[1]).read_bytes(), pathlib.Path(sys.argv[2])
longest, words, layers, heads, channels = 64, 256, 2, 4, 64

def write(name, header, body):
    (work / name).write_bytes(struct.pack("<256i", *header, *[0] * (256 - len(header))) + body)

def tokens(name, part):
    write(name, [20240520, 1, len(part)], struct.pack(f"<{len(part)}H", *part))

tokens("tokens/train.bin", text[: len(text) * 9 // 10])
tokens("tokens/val.bin", text[len(text) * 9 // 10:])
write("gpt2_tokenizer.bin", [20240328, 2, words, 0], b"".join(bytes([1, word or 1]) for word in range(words)))

random.seed(1)
c, l = channels, layers
normal = lambda count: [random.gauss(0, 0.02) for _ in range(count)]
parameters = [normal(words * c), normal(longest * c), [1] * l * c, [0] * l * c, normal(l * 3 * c * c), [0] * l * 3 * c, normal(l * c * c), [0] * l * c,
              [1] * l * c, [0] * l * c, normal(l * 4 * c * c), [0] * l * 4 * c, normal(l * c * 4 * c), [0] * l * c, [1] * c, [0] * c]
flat = [value for each in parameters for value in each]
write("gpt2_124M.bin", [20240326, 3, longest, words, layers, heads, channels, words], struct.pack(f"<{len(flat)}f", *flat))
PYTHON

export TRAIN_TOKENS=tokens/train.bin VAL_TOKENS=tokens/val.bin
for program in train_gpt2 train_gpt2_mdstream; do
  (cd "$work" && "$OLDPWD/$program") | sed 's/ (took .*)$//' >"$work/$program.txt"
done
diff "$work/train_gpt2.txt" "$work/train_gpt2_mdstream.txt"
grep -c '^step ' "$work/train_gpt2.txt" | sed 's/$/ steps with equal losses:/'
grep loss "$work/train_gpt2.txt" | sed -n '1,3p;$p'
