#!/bin/sh
# Runs Chromium without a window, speaking DevTools on stdin and stdout: one
# message of JSON after another, each ended by a zero byte. It ends when stdin
# does, and removes the folder that it was given for its files.
set -eu
folder=$1
shift

trap 'rm -rf "$folder"' EXIT
if ! command -v chromium >/dev/null 2>&1; then
    echo 'Chromium is missing: run scripts/setup-tests' >&2
    exit 1
fi
# An interrupt ends the tests; their end closes stdin, and that ends Chromium.
trap '' INT HUP TERM
# Chromium's own sandbox cannot be set up by root.
[ "$(id -u)" != 0 ] || set -- --no-sandbox

# No name is resolved and every connection goes to a port where nobody is.
chromium "$@" --headless --remote-debugging-pipe \
    --user-data-dir="$folder/profile" \
    --disable-gpu --disable-dev-shm-usage --no-first-run --mute-audio \
    --disable-background-networking --disable-component-update \
    --disable-sync --disable-default-apps --disable-extensions \
    --disable-background-timer-throttling --disable-renderer-backgrounding \
    --disable-backgrounding-occluded-windows \
    --disable-features=IsolateSandboxedIframes \
    --host-resolver-rules='MAP * ~NOTFOUND' \
    --proxy-server=127.0.0.1:9 --proxy-bypass-list='<-loopback>' \
    about:blank 3<&0 4>&1 0</dev/null 1>/dev/null 2>/dev/null || true
