#!/usr/bin/env bash
# Appends the folders that `make install` is about to make to BUILD/install_folders.txt, so that
# `make uninstall` can remove them.
# Usage: new_folders.sh BUILD PREFIX DESTDIR
set -eu
build=$1 prefix=$2 root=$3
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
DESTDIR=$stage cmake --install "$build" --prefix "$prefix" >/dev/null
find "$stage" -mindepth 1 -type d | while IFS= read -r folder; do
    folder=$root${folder#"$stage"}
    [ -d "$folder" ] || printf '%s\n' "$folder"
done >>"$build/install_folders.txt"
