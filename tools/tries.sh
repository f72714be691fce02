# shellcheck shell=bash
# Sourced: tries COMMAND...: runs it until it succeeds, at most three times, with a pause between: what downloads may fail once.
tries() {
  local pause
  for pause in 5 20; do
    "$@" && return
    sleep "$pause"
  done
  "$@"
}
