#!/usr/bin/env bash
# Makes a Debian package of what a build installs, and prints its path.
# Usage: deb.sh BUILD FOLDER ["NAME <MAIL>"]
# The same build gives the same bytes if SOURCE_DATE_EPOCH is set.
set -eu
build=$(realpath "$1") maintainer=${3:-unknown <root@localhost>}
source=$(cd "$(dirname "$0")/.." && pwd)
for tool in dpkg-deb dpkg-shlibdeps strip; do
    command -v $tool >/dev/null || { echo "deb: there is no $tool: apt install dpkg-dev binutils" >&2; exit 1; }
done
mkdir -p "$2"
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
root=$place/root
cp "$build/install_manifest.txt" "$place/earlier" 2>/dev/null || true
cmake --install "$build" --prefix "$root/usr" --strip >"$place/log" 2>&1 || { cat "$place/log" >&2; exit 1; }
if [ -f "$place/earlier" ]; then cp "$place/earlier" "$build/install_manifest.txt"; else rm "$build/install_manifest.txt"; fi
version=$(sed -n 's/^Version: //p' "$build/generated/autokernel.pc")
machine=$(dpkg --print-architecture)

# Debian's policy wants some files in other folders than `make install` uses.
triplet=$(dpkg-architecture -qDEB_HOST_MULTIARCH)
if [ ! -d "$root/usr/lib/$triplet" ]; then
    mkdir "$root/usr/lib/$triplet"
    find "$root/usr/lib" -mindepth 1 -maxdepth 1 ! -name "$triplet" -exec mv {} "$root/usr/lib/$triplet/" \;
fi
sed -i "s|^prefix=.*|prefix=/usr|; s|^libdir=.*|libdir=/usr/lib/$triplet|" "$root/usr/lib/$triplet/pkgconfig/autokernel.pc"
strip --strip-unneeded "$root"/usr/lib/"$triplet"/*.so.*.*
strip --strip-debug "$root"/usr/lib/"$triplet"/*.a
mkdir -p "$root/usr/share/zsh/vendor-completions"
mv "$root/usr/share/zsh/site-functions/_autokernel" "$root/usr/share/zsh/vendor-completions/"
rmdir "$root/usr/share/zsh/site-functions"
doc=$root/usr/share/doc/autokernel
gzip -9n "$root/usr/share/man/man1/autokernel.1"
mv "$doc/CHANGELOG.md" "$doc/changelog"
gzip -9n "$doc/changelog"
{
    echo "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/"
    echo "Upstream-Name: autokernel"
    printf '\nFiles: *\nCopyright: %s\nLicense: Expat\n' "$(sed -n 's/^Copyright (c) //p' "$source/LICENSE" | head -n 1)"
    sed 's/^$/./; s/^/ /' "$source/LICENSE"
    printf '\nFiles: echarts in the executable\nCopyright: The Apache Software Foundation\nLicense: Apache-2.0\n'
    echo " /usr/share/common-licenses/Apache-2.0 has the text; echarts/ has the notices."
} >"$doc/copyright"
rm "$doc/LICENSE"
find "$root" -type d -exec chmod 755 {} +
find "$root" -type f -exec chmod go-w {} +

mkdir -p "$place/debian" "$root/DEBIAN"
printf 'Source: autokernel\nPackage: autokernel\nArchitecture: any\n' >"$place/debian/control"
needs=$(cd "$place" && dpkg-shlibdeps -O -l"$root/usr/lib/$triplet" "$root/usr/bin/autokernel" \
            "$root"/usr/lib/"$triplet"/libautokernel.so.*.* 2>"$place/log" | sed -n 's/^shlibs:Depends=//p')
[ -n "$needs" ] || { cat "$place/log" >&2; exit 1; }
cat >"$root/DEBIAN/control" <<END
Package: autokernel
Version: $version
Section: science
Priority: optional
Architecture: $machine
Maintainer: $maintainer
Installed-Size: $(du -k -s --apparent-size "$root/usr" | cut -f 1)
Depends: $needs
Recommends: gcc, libc6-dev, libcurl4
Suggests: clang, libopenblas0-pthread, libdnnl2 | libdnnl3, libmicrohttpd12
Description: finds fast, correct configurations of compute kernels
 A language model or a classical search proposes configurations of a kernel.
 Each one is compiled, checked for correctness, timed, placed on the roofline
 and archived; the best is exported for production. Kernels run on processors,
 CUDA devices and OpenCL devices.
 .
 The package has the executable, the library with its headers, the runtime for
 bundles, a manual page, completions for shells, and the documentation.
END
(cd "$root" && find usr -type f -print0 | sort -z | xargs -0 md5sum) >"$root/DEBIAN/md5sums"
out=$(realpath "$2")/autokernel_${version}_$machine.deb
dpkg-deb --root-owner-group -Zxz --build "$root" "$out" >"$place/log" 2>&1 || { cat "$place/log" >&2; exit 1; }
echo "$out"
