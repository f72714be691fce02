#!/usr/bin/env bash
# tools/install-arrow.sh [DIRECTORY]: Arrow's C++ libraries with Parquet, out of PyPI's pyarrow, for systems that
# have no packages of them (Debian, Ubuntu): DIRECTORY/include, DIRECTORY/lib, and DIRECTORY/python/bin/python,
# which imports pyarrow. DIRECTORY defaults to $PEERS/arrow, or /opt/peers/arrow. CMake finds them by
# ARROW_ROOT=DIRECTORY. Does nothing where they are; where something fails, the directory is not there.
set -euo pipefail
# shellcheck source=tools/tries.sh
. "$(dirname "$0")/tries.sh"

directory=${1:-${PEERS:-/opt/peers}/arrow}
complete=$directory/complete-1
[ ! -e "$complete" ] || exit 0
if [ -n "$(ls -A "$directory" 2>/dev/null)" ]; then
  echo "mdstream: tools/install-arrow.sh: $directory has other contents, remove it or name another" >&2
  exit 1
fi

trap '[ -e "$complete" ] || rm -rf "$directory"' EXIT
mkdir -p "$directory/lib"
/usr/bin/python3 -m venv "$directory/python"
tries "$directory/python/bin/pip" install -q --disable-pip-version-check --only-binary=:all: pyarrow==22.0.0
package=$("$directory/python/bin/python" -c 'import pyarrow; print(pyarrow.__path__[0])')
ln -s "$package/include" "$directory/include"
for library in arrow parquet; do
  file=("$package/lib$library".so.*)  # a wheel has no links: one file, named by its version
  ln -s "${file[0]}" "$directory/lib/${file[0]##*/}"
  ln -s "${file[0]##*/}" "$directory/lib/lib$library.so"
done
touch "$complete"
