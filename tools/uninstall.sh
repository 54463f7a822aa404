#!/usr/bin/env bash
# Removes what the latest `make install` from BUILD has installed. With a PREFIX, removes the same files of
# that prefix, whichever the latest was. Folders that `make install` made go with them if they are empty.
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
folders=$1/install_folders.txt
if [ -e "$folders" ]; then
    sort -ru "$folders" | while read -r folder; do
        case $folder/ in "$root$place"/*) rmdir "$folder" 2>/dev/null || true ;; esac
    done
fi
[ $removed -gt 0 ] || echo "nothing of autokernel is installed in $root$place"
