#!/usr/bin/env bash
# pkg_config.sh PKG_CONFIG PREFIX COMPILER DIRECTORY COMPONENT=HEADER...: builds the consumer by the line of docs/install.md, with
# what the .pc files of PREFIX say. Of each component the header is found by its .pc file, with all that it includes, and its
# libraries can be linked.
set -euo pipefail
pkg_config=$1 prefix=$2 compiler=$3 directory=$4
shift 4
source=$(cd "$(dirname "$0")/source" && pwd)
page=$(cd "$(dirname "$0")/../../docs" && pwd)/install.md
mkdir -p "$directory"
export PKG_CONFIG_PATH=$prefix/share/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}

(
  # shellcheck disable=SC2317 # called by the line
  g++() { command "$compiler" "$@"; }
  # shellcheck disable=SC2317
  pkg-config() { command "$pkg_config" "$@"; }
  # shellcheck disable=SC2016
  line=$(grep '^g++ \$(pkg-config' "$page")
  cd "$directory"
  cat "$source"/one.cpp "$source"/two.cpp >trainer.cpp
  cp "$source"/consumer.hpp .
  eval "$line"
  ./trainer
)

echo 'int main() {}' >"$directory/empty.cpp"
for each in "$@"; do
  component=${each%%=*} header=${each#*=}
  "$pkg_config" --exists --print-errors "mdstream-$component"
  # shellcheck disable=SC2046
  echo "#include <mdstream/$header>" | "$compiler" -x c++ -E $("$pkg_config" --cflags "mdstream-$component") - >/dev/null
  # shellcheck disable=SC2046
  "$compiler" "$directory/empty.cpp" -Wl,--no-as-needed -o "$directory/empty" $("$pkg_config" --libs "mdstream-$component")
  echo "mdstream-$component: $("$pkg_config" --libs "mdstream-$component")"
done
