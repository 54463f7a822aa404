#!/usr/bin/env bash
# Rules that no compiler checks: the order of the folders, banned functions, unique file names,
# where output and the environment may be touched. Usage: lint.sh TREE
set -eu
cd "$1"
bad=0
complain() { echo "lint: $*" >&2; bad=1; }

# A folder may include itself and the folders before it; cli sees only base and the public header.
order="base problem model measure llm check archive recording backend strategy replay worker report serve tuner"
rank() { local i=0 name; for name in $order; do i=$((i + 1)); [ "$name" = "$1" ] && echo $i && return; done; echo 0; }
while IFS=: read -r file include; do
    from=$(echo "$file" | cut -d/ -f2)
    to=${include%%/*}
    case "$to" in autokernel) continue ;; esac
    if [ "$from" = cli ]; then
        case "$to" in base | cli) ;; *) complain "$file includes $include: cli/ uses the public header and base/ only" ;; esac
    elif [ "$(rank "$from")" -eq 0 ] || [ "$(rank "$to")" -eq 0 ]; then
        complain "$file includes $include: unknown folder"
    elif [ "$(rank "$to")" -gt "$(rank "$from")" ]; then
        complain "$file includes $include: $from/ comes before $to/"
    fi
done < <(grep -rnE '^#include "' src --include='*.c' --include='*.h' | sed -E 's/^([^:]+):[0-9]+:#include "([^"]+)".*/\1:\2/')

while read -r hit; do complain "$hit"; done < <(
    grep -rnEw '(strcpy|strcat|sprintf|vsprintf|strtok|atoi|atol|atof|system|popen|rand|srand|gets|alloca)\(' src examples --include='*.c' --include='*.h' || true)
# malloc and friends live in base/alloc.c, getenv in base/ and cli/, printing and exit in cli/.
while read -r hit; do complain "$hit: use base/alloc.h"; done < <(
    grep -rnE '(^|[^a-z_>.])(malloc|calloc|realloc|free|strdup|strndup)\(' src --include='*.c' | grep -v '^src/base/alloc.c' || true)
while read -r hit; do complain "$hit: only base/ and cli/ read the environment"; done < <(
    grep -rnEw 'getenv\(' src --include='*.c' | grep -vE '^src/(base|cli)/' || true)
while read -r hit; do complain "$hit: only cli/ prints and exits"; done < <(
    grep -rnE '^[^*/]*(^|[^a-z_>.])(printf|puts|putchar|exit|abort)\(|fprintf\(std' src --include='*.c' | grep -vE '^src/cli/' || true)

while read -r name; do complain "two files are called $name"; done < <(
    find src -name '*.[ch]' -printf '%f\n' | sort | uniq -d)
while read -r file; do complain "$file: a line is longer than 100 columns"; done < <(
    find src include examples tests -name '*.[ch]' -exec awk 'length($0) > 100 {print FILENAME; nextfile}' {} +)
while read -r file; do complain "$file: ends without a line break or holds a tab"; done < <(
    find src include examples tests -name '*.[ch]' | while read -r f; do
        if [ -n "$(tail -c1 "$f")" ] || grep -qP '\t' "$f"; then echo "$f"; fi
    done)
[ $bad -eq 0 ] && echo "lint: clean"
exit $bad
