#!/usr/bin/env bash
# Removes what the latest `make install` from BUILD has installed. With a PREFIX, removes the same files of
# that prefix, whichever the latest was.
# Usage: uninstall.sh BUILD DESTDIR [PREFIX]
set -eu
manifest=$1/install_manifest.txt root=$2
[ -e "$manifest" ] || { echo "nothing was installed from $1" >&2; exit 1; }
was=$(sed -n 's|/bin/autokernel$||p' "$manifest" | head -n 1)
place=$was
[ -z "${3:-}" ] || place=$(realpath -ms "$3")
removed=0
while read -r file || [ -n "$file" ]; do
    file=$root$place${file#"$was"}
    if [ -e "$file" ] || [ -L "$file" ]; then
        rm -fv "$file"
        removed=$((removed + 1))
    fi
done <"$manifest"
[ $removed -gt 0 ] || echo "nothing of autokernel is installed in $root$place"
