#!/usr/bin/env bash
# Rules that no compiler checks: the order of the folders, banned functions, unique file names,
# where output and the environment may be touched, and what the documents say (docs.py).
# Usage: lint.sh TREE
set -eu
cd "$1"
bad=0
complain() { echo "lint: $*" >&2; bad=1; }

# A folder may include itself and the folders before it; cli sees only base and the public header.
order="runtime base space problem model measure llm check archive recording formats backend strategy judge launcher worker report serve tuner lab ship"
while read -r hit; do complain "$hit"; done < <(
    grep -rnE '^#include "' src --include='*.c' --include='*.h' |
        sed -E 's/^([^:]+):[0-9]+:#include "([^"]+)".*/\1:\2/' |
        awk -F: -v order="$order" '
            BEGIN { count = split(order, folders, " "); for (i = 1; i <= count; i++) rank[folders[i]] = i }
            {
                split($1, path, "/"); from = path[2]; to = $2; sub(/\/.*/, "", to)
                if (to == "autokernel") next
                if (from == "cli") {
                    if (to != "base" && to != "cli")
                        print $1 " includes " $2 ": cli/ uses the public header and base/ only"
                } else if (!(from in rank) || !(to in rank)) print $1 " includes " $2 ": unknown folder"
                else if (rank[to] + 0 > rank[from]) print $1 " includes " $2 ": " from "/ comes before " to "/"
            }')

while read -r hit; do complain "$hit"; done < <(
    grep -rnE '\b(strcpy|strcat|sprintf|vsprintf|strtok|atoi|atol|atof|system|popen|rand|srand|gets|alloca)\(' src examples --include='*.c' --include='*.h' || true)
# What depends on the locale of the program that uses the library lives in base/number.c; our own
# program, cli/, never sets one and may print as it likes.
while read -r hit; do complain "$hit: depends on the locale: use base/number.h or base/ascii.h"; done < <(
    grep -rnE '\b(strto(d|f|ld)|[fs]?scanf|(local|set|use)(econv|locale)|is(alpha|alnum|digit|space|blank|upper|lower|punct|print|graph|cntrl|xdigit)|to(upper|lower)|strn?casecmp|strcasestr|strcoll|strxfrm|strptime)\(' src --include='*.c' | grep -v '^src/base/number.c' || true)
# A format is all that stands in quotes after the bracket; one that stands elsewhere cannot be judged.
while read -r hit; do complain "$hit: a real number or an unknown format: use ak_number_print"; done < <(
    find src -name '*.c' ! -path 'src/cli/*' ! -path src/base/number.c \
        -exec grep -HPzo '\bv?snprintf\([^";]*("([^"\\]|\\.)*"|PRI\w+|\s|;)+' {} + | tr '\n\0' ' \n' | sed 's/%%//g' |
        grep -E '%[-+ #0]*[0-9*]*(\.[0-9*]+)?L?[aefgAEFG]|vsnprintf|\);' || true)
# malloc and friends live in base/alloc.c, getenv in base/ and cli/, printing and exit in cli/. A line
# that begins with a quote is text: of a program that is written out.
code() { grep -vE '^[^:]+:[0-9]+: *"' || true; }
while read -r hit; do complain "$hit: use base/alloc.h"; done < <(
    grep -rnE '(^|[^a-z_>.])(malloc|calloc|realloc|free|strdup|strndup)\(' src --include='*.c' | grep -v '^src/base/alloc.c' | code || true)
while read -r hit; do complain "$hit: only base/ and cli/ read the environment"; done < <(
    grep -rnEw 'getenv\(' src --include='*.c' | grep -vE '^src/(base|cli)/' || true)
# A variable that the program reads is known to `autokernel doctor`, which calls others misspelled.
while read -r hit; do complain "frees what is no pointer: $hit"; done < <(
    grep -rnE 'AK_FREED([^=;]*|.*, *\**[a-z_]+)\[' src --include='*.[ch]' || true)
known=$( (grep -oE '"AUTOKERNEL_[A-Z0-9_]+"' src/cli/settings.c | tr -d '"'
    sed -nE 's/^X\(([A-Z0-9_]+),.*, true, "[^"]*"\)$/AUTOKERNEL_\1/p' src/cli/options.def) | sort -u)
while read -r name; do complain "$name is read, but src/cli/settings.c does not list it"; done < <(
    grep -rohE '\bAUTOKERNEL_[A-Z0-9_]*[A-Z0-9]\b' src --include='*.[ch]' --include='*.py' | sort -u |
        grep -vxF -e AUTOKERNEL_NAME -e "$known" || true)
while read -r hit; do complain "$hit: only cli/ prints and exits"; done < <(
    grep -rnE '^[^*/]*(^|[^a-z_>.])(printf|puts|putchar|exit|abort)\(|fprintf\(std' src --include='*.c' | grep -vE '^src/cli/' | code || true)

while read -r name; do complain "two files are called $name"; done < <(
    find src -name '*.[ch]' -printf '%f\n' | sort | uniq -d)
while read -r file; do complain "$file: a line is longer than 100 columns"; done < <(
    find src include runtime examples tests -name '*.[ch]' -exec awk 'length($0) > 100 {print FILENAME; nextfile}' {} +)
while read -r file; do complain "$file: ends without a line break or holds a tab"; done < <(
    {
        find src include runtime examples tests -name '*.[ch]' -exec grep -lP '\t' {} + || true
        find src include runtime examples tests -name '*.[ch]' -exec tail -qc1 {} + | tr '\n' . | grep -q '[^.]' &&
            find src include runtime examples tests -name '*.[ch]' | while read -r f; do
                [ -z "$(tail -c1 "$f")" ] || echo "$f"
            done || true
    } | sort -u)
# Documents: the glossary, the walk through the source, the width of lines.
if command -v python3 >/dev/null; then
    while read -r hit; do complain "$hit"; done < <(python3 tools/docs.py . 2>&1 | grep -v '^docs: clean$' || true)
    # Files over 600 lines and functions over 60 say why.
    while read -r hit; do complain "$hit"; done < <(python3 tools/figures.py --check 2>&1 | grep -E '^figures: |Error' || true)
else
    echo "lint: no python3, so documents are not checked" >&2
fi
[ $bad -eq 0 ] && echo "lint: clean"
exit $bad
