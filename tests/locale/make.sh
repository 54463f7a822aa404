#!/usr/bin/env bash
# Compiles the locale `hostile` into FOLDER (LOCPATH=FOLDER finds it): decimals after a comma, groups
# of three, 8-bit letters, and a capital of i that is no I, as Turkish has it. What a program that uses
# the library may have set, in one. Needs localedef, which Debian's libc-bin has, and no installed locale.
# Usage: make.sh FOLDER      exit 0 also without localedef: the tests skip themselves then
set -eu
here=$(cd "$(dirname "$0")" && pwd)
folder=$1
localedef=$(command -v localedef || echo /usr/bin/localedef)
[ -x "$localedef" ] || { echo "no localedef: no locale to test with"; exit 0; }
mkdir -p "$folder"
{
    echo "<code_set_name> AK-BYTES"
    echo "<comment_char> %"
    echo "<escape_char> /"
    echo "<mb_cur_min> 1"
    echo "<mb_cur_max> 1"
    echo "CHARMAP"
    for ((i = 0; i < 256; i++)); do
        case $i in
        221) code=304 ;; # the capital I with a dot and the small one without, where ISO 8859-9 has them
        253) code=305 ;;
        *) code=$i ;;
        esac
        printf '<U%04X> /x%02x C\n' $code $i
    done
    echo "END CHARMAP"
} >"$folder/bytes.map"
# Categories that it does not define are taken from "C", which localedef warns about with exit code 1.
"$localedef" --force -i "$here/hostile.src" -f "$folder/bytes.map" "$folder/hostile" >"$folder/localedef.log" 2>&1 || true
[ -f "$folder/hostile/LC_NUMERIC" ] || { cat "$folder/localedef.log" >&2; exit 1; }
