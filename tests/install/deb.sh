#!/usr/bin/env bash
# The Debian package can be installed into a root of its own, and works from there.
# Usage: deb.sh SOURCE BUILD
set -eu
source=$1 build=$2
for tool in dpkg-deb dpkg-shlibdeps dpkg-architecture; do
    command -v $tool >/dev/null || { echo "skip: no $tool"; exit 77; }
done
export DPKG_DEB_COMPRESSOR_LEVEL=0 # the package is thrown away
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cmake --build "$build" --target installable >"$place/log" 2>&1 || { cat "$place/log"; exit 1; }
package=$(bash "$source/tools/deb.sh" "$build" "$place/out")
[ "$(dpkg-deb -f "$package" Package)" = autokernel ]
dpkg-deb -f "$package" Depends | grep -q libc6
mkdir -p "$place/root/var/lib/dpkg/updates" "$place/root/var/lib/dpkg/info"
touch "$place/root/var/lib/dpkg/status" "$place/root/var/lib/dpkg/available"
if [ "$(id -u)" -eq 0 ]; then
    dpkg --root="$place/root" --log=/dev/null --force-depends --force-not-root -i "$package" >"$place/log" 2>&1 ||
        { cat "$place/log"; exit 1; }
    [ "$(dpkg-query --admindir="$place/root/var/lib/dpkg" -W -f '${db:Status-Status}' autokernel)" = installed ]
else
    dpkg-deb -x "$package" "$place/root"
fi
(cd "$place/root" && md5sum --quiet -c <(dpkg-deb --ctrl-tarfile "$package" | tar -xO ./md5sums))
mkdir "$place/home"
HOME=$place/home "$place/root/usr/bin/autokernel" doctor >"$place/doctor"
grep -q host "$place/doctor"
HOME=$place/home "$place/root/usr/bin/autokernel" list softmax >"$place/list"
gzip -dc "$place/root/usr/share/man/man1/autokernel.1.gz" | grep -q '^\.SS autokernel'
[ -s "$place/root/usr/share/doc/autokernel/copyright" ]
pc=$(find "$place/root" -name autokernel.pc)
[ "$(PKG_CONFIG_PATH=$(dirname "$pc") pkg-config --variable=prefix autokernel)" = /usr ]
if [ "$(id -u)" -eq 0 ]; then
    dpkg --root="$place/root" --log=/dev/null --force-depends -r autokernel >"$place/log" 2>&1 || { cat "$place/log"; exit 1; }
    [ -z "$(find "$place/root/usr" -type f 2>/dev/null)" ]
fi
if command -v lintian >/dev/null; then
    lintian --fail-on error --suppress-tags embedded-library,no-copyright-file "$package"
fi
