#!/usr/bin/env bash
# What is installed works from its place alone: the program, both libraries through pkg-config, the
# manual page, the completions and the example of the README; uninstalling takes every file and folder
# away again.
# Usage: check.sh SOURCE BUILD CC
set -eu
source=$1 build=$2 cc=$3
whole=$(mktemp -d)
trap 'rm -rf "$whole"; rm -f "$build/install_folders.txt"' EXIT
place="$whole/pre fix"
mkdir "$place"
make -n -C "$source" install PREFIX="$place" DESTDIR="/de st" | grep -qF "DESTDIR=\"/de st\" cmake --install build/release --prefix \"$place\"" ||
    { echo "make install does not quote PREFIX or DESTDIR"; exit 1; }
log=$place/log
cmake --build "$build" --target installable >"$log" 2>&1 || { cat "$log"; exit 1; }
cp "$build/install_manifest.txt" "$place/earlier" 2>/dev/null || true
mkdir -p "$place/usr/share/man"
mv "$build/install_folders.txt" "$place/folders" 2>/dev/null || true
bash "$source/tools/new_folders.sh" "$build" "$place/usr" ""
cmake --install "$build" --prefix "$place/usr" >"$log" 2>&1 || { cat "$log"; exit 1; }
cp "$build/install_manifest.txt" "$place/manifest"

"$place/usr/bin/autokernel" list --json | python3 -c 'import json, sys; assert json.load(sys.stdin)'

pc=$(dirname "$(find "$place/usr" -name autokernel.pc)")
sed -i "s|^prefix=.*|prefix=$place/usr|" "$pc/autokernel.pc"
cat >"$place/user.c" <<'END'
#include <autokernel/autokernel.h>
#include <stdio.h>
int main(void)
{
    puts(ak_version());
    return 0;
}
END
flags=$(PKG_CONFIG_PATH=$pc pkg-config --cflags --libs autokernel)
eval "$cc '$place/user.c' -o '$place/user' $flags" # pkg-config quotes for a shell
version=$(LD_LIBRARY_PATH=$(dirname "$pc") "$place/user")
[ "$version" = "$(sed -n 's/^Version: //p' "$pc/autokernel.pc")" ]
ldd "$place/user" >/dev/null
LD_LIBRARY_PATH=$(dirname "$pc") ldd "$place/user" | grep -q "$place/usr.*libautokernel.so.0"
# Only what the header declares may be seen from outside.
strange=$(nm -D --defined-only "$(dirname "$pc")/libautokernel.so" | awk '{print $3}' | grep -v '^ak_' || true)
[ -z "$strange" ] || { echo "exported: $strange"; exit 1; }

# The README says how to build an example, in a place whose name has no blanks.
ln -s "$place/usr" "$whole/usr"
mkdir "$whole/pc"
sed "s|^prefix=.*|prefix=$whole/usr|" "$pc/autokernel.pc" >"$whole/pc/autokernel.pc"
command=$(sed -n 's|^    \(cc examples/optimizer.c .*\)|\1|p' "$source/README.md")
[ -n "$command" ]
(cd "$place" && cp -r "$source/examples" . && cc() { command $cc "$@"; } && export PKG_CONFIG_PATH=$whole/pc && eval "$command")
(cd "$place" && PATH=$place/usr/bin:$PATH LD_LIBRARY_PATH=$(dirname "$pc") XDG_DATA_HOME=$place/data ./optimizer) |
    grep -q "configurations tried" || { echo "the example of the README does not run"; exit 1; }

share=$place/usr/share
bash -n "$share/bash-completion/completions/autokernel"
# completes WANTED WORD...: what bash offers for the last word
completes() {
    local words
    words=$(bash -c ". '$share/bash-completion/completions/autokernel'; COMP_WORDS=(\"\$@\")
                     COMP_CWORD=\$((\$# - 1)); _autokernel; echo \"\${COMPREPLY[*]}\"" bash autokernel "${@:2}")
    [ "$words" = "$1" ] || { echo "bash completes ${*:2} as: $words"; exit 1; }
    if command -v fish >/dev/null; then
        words=$(cd "$place/empty" && fish -c "source '$share/fish/vendor_completions.d/autokernel.fish'
                complete -C 'autokernel ${*:2}'" | cut -f1 | paste -sd' ')
        [ "$words" = "$1" ] || { echo "fish completes ${*:2} as: $words"; exit 1; }
    fi
}
mkdir "$place/empty"
completes export exp
completes --evals tune --eva
completes 'check show' llm ''
completes 'show verify' bundle ''
completes tune 'help' tu
completes softmax tune sof
completes '' tune softmax --evals ''   # a value is due, or a file
completes '' tune softmax ''
completes '' import ''
[ -z "$(bash -c ". '$share/bash-completion/completions/autokernel'; COMP_WORDS=(autokernel best --archive = =)
                 COMP_CWORD=3; _autokernel; echo \"\${COMPREPLY[*]}\"")" ]
for shell in zsh fish; do
    file=$share/zsh/site-functions/_autokernel
    [ $shell = zsh ] || file=$share/fish/vendor_completions.d/autokernel.fish
    [ -s "$file" ]
    if command -v $shell >/dev/null; then $shell -n "$file"; fi
done
page=$share/man/man1/autokernel.1
if command -v groff >/dev/null; then
    groff -man -Tascii -ww "$page" >"$place/page" 2>"$log"
    [ ! -s "$log" ] || { cat "$log"; exit 1; }
    grep -q -- '--evals' "$place/page"
fi
[ "$(grep -c '^\.SS autokernel' "$page")" = "$("$place/usr/bin/autokernel" help --json | grep -o '"summary"' | wc -l)" ]

# The library finds the executable that was installed with it, whatever PATH says.
eval "$cc '$source/examples/tester.c' -o '$place/tester' $flags -lm"
env -i HOME="$place" PATH=/nowhere LD_LIBRARY_PATH="$(dirname "$pc")" "$place/tester" >"$log" 2>&1 || true
! grep "executable" "$log" || exit 1

# What is taken away is that of the prefix, not the latest; the second time says that there is nothing.
cmake --install "$build" --prefix "$place/other" >"$log" 2>&1 || { cat "$log"; exit 1; }
make -n -C "$source" uninstall PREFIX="$place" | grep -qF "uninstall.sh build/release \"\" \"$place\"" ||
    { echo "make uninstall does not pass PREFIX on"; exit 1; }
bash "$source/tools/uninstall.sh" "$build" "" "$place/usr" >"$log"
[ "$(wc -l <"$log")" = "$(find "$place/other" -type f -o -type l | wc -l)" ] || { cat "$log"; exit 1; }
bash "$source/tools/uninstall.sh" "$build" "" "$place/usr" | grep -q "^nothing of autokernel is installed"
left=$(cd "$place" && find usr | sort | paste -sd' ')
[ "$left" = "usr usr/share usr/share/man" ] || { echo "left behind: $left"; exit 1; }
if [ -s "$place/earlier" ]; then cp "$place/earlier" "$build/install_manifest.txt"; fi
if [ -e "$place/folders" ]; then mv "$place/folders" "$build/install_folders.txt"; trap 'rm -rf "$whole"' EXIT; fi
echo "installed, used, uninstalled"
