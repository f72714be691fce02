# shellcheck shell=bash
# Sourced, by what downloads.

# tries COMMAND...: runs it until it succeeds, with a pause between: what downloads may fail once. MDSTREAM_TRIES has
# the pauses in seconds; a run that nobody watches sits out an outage of the network with longer ones.
tries() {
  local pause
  for pause in ${MDSTREAM_TRIES:-5 20}; do
    "$@" && return
    echo "mdstream: a download has failed, it is tried again in $pause seconds" >&2
    sleep "$pause"
  done
  "$@"
}

# install_packages PACKAGE...: Debian's packages, without a question.
install_packages() {
  local as_root=() apt
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || { echo "mdstream: as root, please: apt-get install $*" >&2 && return 1; }
    as_root=(sudo)
  fi
  # RUNLEVEL=1 keeps servers among the packages from being started.
  apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get -qq -o DPkg::Lock::Timeout=600 -o Dpkg::Use-Pty=0)
  # Of an installation that was killed, all later ones say "dpkg was interrupted".
  [ -z "$(dpkg --audit)" ] || "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive dpkg --configure -a >&2 || true
  tries "${apt[@]}" -o APT::Update::Error-Mode=any update ||
    echo "mdstream: the lists of packages were not renewed, those of the last time are used" >&2
  tries "${apt[@]}" install -y --no-install-recommends "$@" >/dev/null
}
