#!/bin/sh
# The browser tests drive Debian's Chromium; it is installed where it is missing and may be.
set -eu
for name in chromium chromium-browser google-chrome; do
  if command -v "$name" >/dev/null 2>&1; then exit 0; fi
done
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core >/dev/null
  exit 0
fi
echo "Chromium is needed for the browser tests: install it (Debian: apt-get install chromium) and run this again." >&2
exit 1
