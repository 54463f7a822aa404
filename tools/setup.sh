#!/usr/bin/env bash
# Installs what is missing, after printing it. Usage: setup.sh build|check|full
# build: what `make tune` needs; check: also what `make check` needs; full: also what the other builds
# of CI and its tests in a browser and of OpenCL need. Does nothing when all is there.
set -eu
packages="gcc libc6-dev make cmake clang libjansson-dev libsqlite3-dev zlib1g-dev libxxhash-dev libcurl4-openssl-dev libopenblas0-pthread libdnnl2"
[ "${1:-build}" = check ] && packages="$packages libcmocka-dev binutils g++ python3 pkg-config"
[ "${1:-build}" = full ] && packages="$packages libcmocka-dev binutils g++ python3 pkg-config clang-tidy libclang-rt-dev libblis4-pthread chromium chromium-driver libmicrohttpd12 ocl-icd-libopencl1"

# oneDNN has another name where a later version is packaged (Debian 13, Ubuntu 24.04).
installed() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null || true)" = installed ]; }
for name in libdnnl3.6 libdnnl3; do
    if installed "$name"; then packages=${packages/libdnnl2/$name}; fi
done

missing=""
for package in $packages; do
    installed "$package" || missing="$missing $package"
done
if [ -z "$missing" ]; then
    exit 0
fi
echo "setup: installing the Debian packages:$missing"
run=""
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
        echo "setup: not root and no sudo: run as root: apt-get install$missing" >&2
        exit 1
    fi
    run='sudo env DEBIAN_FRONTEND=noninteractive'
fi
export DEBIAN_FRONTEND=noninteractive
$run apt-get update -qq || echo "setup: apt-get update failed; trying with the lists that are there" >&2
available=""
for package in $missing; do
    case "$package" in
    libdnnl2)
        for name in libdnnl2 libdnnl3 libdnnl3.6; do
            if apt-cache show "$name" >/dev/null 2>&1; then available="$available $name"; break; fi
        done ;;
    *) available="$available $package" ;;
    esac
done
# shellcheck disable=SC2086
$run apt-get install -y -qq --no-install-recommends $available >/dev/null
