#!/usr/bin/env bash
# Checks that the executable needs only glibc 2.34 or later.
# Usage: needs.sh EXECUTABLE
set -eu
exe=$1
others=$(objdump -p "$exe" | awk '$1 == "NEEDED" {print $2}' | grep -vE '^(libc|libm|ld-linux[-a-z0-9_]*)\.so' || true)
if [ -n "$others" ]; then
    echo "needs.sh: $exe needs more than libc and libm: $others" >&2
    exit 1
fi
newest=$(objdump -T "$exe" | grep -oE 'GLIBC_[0-9.]+' | sort -uV | tail -n 1)
if [ "$(printf '%s\nGLIBC_2.34\n' "$newest" | sort -V | tail -n 1)" != GLIBC_2.34 ]; then
    echo "needs.sh: $exe needs $newest; 2.34 is the limit" >&2
    objdump -T "$exe" | grep "$newest" >&2
    exit 1
fi
echo "libc and libm only, $newest"
