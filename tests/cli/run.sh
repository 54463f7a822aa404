#!/usr/bin/env bash
# Golden tests of the command line, one a file:
#
#     NAME.sh     what is run, in a scratch folder of its own, with `autokernel` in PATH
#     NAME.out    what it must print, standard output and error together. A line must be equal, or
#                 match with each '*' standing for anything; a line '...' stands for any lines
#     NAME.exit   the exit code; 0 without that file. A script that exits 77 skips its test
#
# Usage: run.sh EXECUTABLE [--update] [--strange CLOCK] [NAME...]      all tests if none is named
# --update writes what was printed to NAME.out and NAME.exit where they do not match; look at the diff.
# --strange runs autokernel where it must make no difference: 400 days later (CLOCK is fakes/fake_clock.c
# as a library), at the other end of the calendar, in German, without HOME, with a TMPDIR that is long
# and a folder that have blanks, a quote and a letter that is not ASCII in their names.
# A test that fails where the product says that the machine was too busy to judge a candidate is run
# again, from the beginning: that is the right answer there, and what the test looks at is not seen.
set -u
here=$(cd "$(dirname "$0")" && pwd)
executable=$(realpath "$1")
shift
update=no
if [ "${1:-}" = --update ]; then
    update=yes
    shift
fi
clock=
if [ "${1:-}" = --strange ]; then
    clock=$(realpath "$2")
    shift 2
fi

# Makes $1/bin/autokernel: the executable or, with --strange, a script that puts it into that place.
make_executable() {
    local tmp language=C.UTF-8
    if [ -z "$clock" ]; then
        ln -s "$executable" "$1/bin/autokernel"
        return
    fi
    locale -a 2>/dev/null | grep -qix 'de_DE.utf-\?8' && language=de_DE.UTF-8
    tmp="$1/tmp/eine lange Ablage für alles, was ein Programm nur für eine Weile braucht, mit Blanks"
    mkdir -p "$tmp"
    cat >"$1/bin/autokernel" <<END
#!/bin/sh
unset HOME
export LC_ALL=$language TZ=Pacific/Kiritimati AK_TEST_DAYS=400 LD_PRELOAD="$clock" TMPDIR="$tmp"
exec "$executable" "\$@"
END
    chmod 755 "$1/bin/autokernel"
}

# Makes p of one line of NAME.out: a pattern where everything but '*' is meant literally. (No process is
# started for it: there are thousands of lines.)
pattern() {
    local letter
    p=$1
    [[ $p == *[][\\?(){}\|!@+^]* ]] || return 0
    for letter in '\' '[' ']' '?' '(' ')' '{' '}' '|' '!' '@' '+' '^'; do
        p=${p//"$letter"/"\\$letter"}
    done
}

# Does file $1 match the expectations in file $2? Says where not.
matches() {
    local got want line=0 w=0 p skip=no
    mapfile -t got <"$1"
    mapfile -t want <"$2"
    while [ $w -lt ${#want[@]} ]; do
        if [ "${want[$w]}" = ... ]; then
            skip=yes
            w=$((w + 1))
            continue
        fi
        pattern "${want[$w]}"
        while [ $skip = yes ] && [ $line -lt ${#got[@]} ] && [[ ${got[$line]} != $p ]]; do
            line=$((line + 1))
        done
        if [ $line -ge ${#got[@]} ]; then
            echo "line $((w + 1)) is missing: ${want[$w]}"
            return 1
        fi
        if [[ ${got[$line]} != $p ]]; then
            echo "line $((line + 1)) differs from $(basename "$2"):$((w + 1))"
            echo "  expected: ${want[$w]}"
            echo "  got:      ${got[$line]}"
            return 1
        fi
        skip=no
        line=$((line + 1))
        w=$((w + 1))
    done
    if [ $skip = no ] && [ $line -lt ${#got[@]} ]; then
        echo "line $((line + 1)) is too much: ${got[$line]}"
        return 1
    fi
}

# How warnings begin that are no part of what is tested: of what the kernel of this machine, or a sanitizer, does not
# allow, and of how busy or fast the machine is. A size may stand before them. (test_kernel.py has those of tune, too.)
of_machine='this kernel has no |the machine (is|was) busy |the clock (differed|was held back) |one candidate measured twice '
of_machine+='|the fastest of the search .* could not be judged|the limits of this device were measured too low |all times are '
of_machine+='|.* took .* ms in the finish and .* ms |#[0-9]+ is [a-z]+ than .* in the rounds that both took part in'

# Runs test $1, now for the $2-th time.
run_one() {
    local name=$1 time=$2 base scratch code want=0
    base=$(mktemp -d)
    scratch=$base
    [ -z "$clock" ] || scratch="$base/Ordner's Größe"
    mkdir -p "$scratch/bin" "$scratch/work" "$scratch/home" "$scratch/tmp"
    make_executable "$scratch"
    (
        # Nothing of the user's may leak in; cli/triton asks for the Python that has Triton.
        export TEST_PYTHON=${AUTOKERNEL_PYTHON:-python3}
        for variable in $(compgen -e | grep -E '^(AUTOKERNEL|XDG|OPENBLAS|OMP|BLIS)_'); do
            unset "$variable"
        done
        unset NO_COLOR CDPATH CURL_CA_BUNDLE SSL_CERT_FILE
        unset http_proxy https_proxy all_proxy no_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY
        export LC_ALL=C TZ=UTC TERM=dumb HOME=$scratch/home TMPDIR=$scratch/tmp
        export XDG_DATA_HOME=$scratch/data XDG_CONFIG_HOME=$scratch/config
        export XDG_CACHE_HOME=$scratch/cache XDG_STATE_HOME=$scratch/state
        export AUTOKERNEL_ARCHIVE=$scratch/archive.db AUTOKERNEL_WORKER=$executable
        # What these tests look at needs neither exact times nor the exact ceilings of this machine, and
        # one thread does as well as two, which wait for each other. Tests of threads name their number.
        export AUTOKERNEL_FINISH_TIME=0.02 AUTOKERNEL_CEILING_MIB=8 AUTOKERNEL_SAMPLES=7 AUTOKERNEL_THREADS=1
        export PATH=$scratch/bin:$PATH TESTS=$here
        cd "$scratch/work" && timeout -k 10 1100 bash -u "$here/$name.sh"
    ) >"$scratch/out" 2>&1 </dev/null
    code=$?
    # The scratch folder has another name each time.
    sed -E -e "s#$scratch#SCRATCH#g" -e "/^warning: (.*: )?($of_machine)/d" \
        -e '/^(speed compares times of the same round|roofline above 100 %)/d' \
        -e '/(: compiling or running|^computing inputs and right results) for [0-9]+ s; /d' "$scratch/out" >"$scratch/shown"
    if [ $code -eq 77 ]; then
        echo "skip $name: $(tail -n 1 "$scratch/shown")"
        rm -rf "$base"
        return 77
    fi
    [ -f "$here/$name.exit" ] && want=$(cat "$here/$name.exit")
    local bad=0
    touch "$scratch/expected"
    [ -f "$here/$name.out" ] && cp "$here/$name.out" "$scratch/expected"
    if [ $code -ne "$want" ]; then
        echo "FAIL $name: exit code $code, not $want"
        bad=1
    fi
    if ! matches "$scratch/shown" "$scratch/expected" >"$scratch/why"; then
        echo "FAIL $name: $(cat "$scratch/why")"
        bad=1
    fi
    if [ $bad -eq 1 ] && [ "$time" -lt 3 ] &&
        grep -rqas --exclude-dir=bin "not judged: the machine was too busy" "$scratch"; then
        echo "again $name: the machine was too busy to judge a candidate"
        rm -rf "$base"
        run_one "$name" $((time + 1))
        return
    fi
    if [ $bad -eq 1 ] && [ $update = yes ]; then
        cp "$scratch/shown" "$here/$name.out"
        rm -f "$here/$name.exit"
        [ $code -ne 0 ] && echo $code >"$here/$name.exit"
        echo "updated $name"
        bad=0
    elif [ $bad -eq 1 ]; then
        echo "--- all that was printed:"
        cat "$scratch/shown"
    else
        echo "ok   $name"
    fi
    rm -rf "$base"
    return $bad
}

names=("$@")
if [ ${#names[@]} -eq 0 ]; then
    for script in "$here"/*.sh; do
        name=$(basename "$script" .sh)
        [ "$name" = run ] || names+=("$name")
    done
fi
failed=0
for name in "${names[@]}"; do
    run_one "$name" 1
    case $? in
    0) ;;
    77) [ ${#names[@]} -eq 1 ] && exit 77 ;;
    *) failed=$((failed + 1)) ;;
    esac
done
[ $failed -eq 0 ] || { echo "$failed failed"; exit 1; }
