# Tests that any command line gives exit code 0, 1 or 2, and with 2 at most one line of complaint; import has
# one line for each file.
long=$(head -c 100000 /dev/zero | tr '\0' x)
pieces=('' - -- --- = --= --=x -h --help --json --json=1 --json=x --evals --evals=3 -1 0 99999999999999999999
    matmul ./ / /dev/null '%s%n' $'\033[31m' $'line\nbreak' $'\xff\xfe' --size --size=1 "$long" --config @ --config=@/
    '--set=a=b,c' --limit=1 --status=ok -o -q kernel "--$long")
commands=(doctor list tune check bench compare history best stats export import report new help nosuch '')
tried=0
RANDOM=20261121
while [ $tried -lt 150 ]; do
    line=("${commands[RANDOM % ${#commands[@]}]}")
    for ((i = RANDOM % 5; i > 0; i--)); do
        line+=("${pieces[RANDOM % ${#pieces[@]}]}")
    done
    tried=$((tried + 1))
    # These would really work, for a long time; they have tests of their own.
    case ${line[0]} in tune | check | bench | compare | doctor) line+=(--no-such-option) ;; esac
    timeout 60 autokernel "${line[@]}" >stdout 2>stderr
    code=$?
    lines=1
    [ "${line[0]}" = import ] && [ ${#line[@]} -gt 2 ] && lines=$((${#line[@]} - 1))
    if [ $code -gt 2 ] || { [ $code -eq 2 ] && [ "$(wc -l <stderr)" -gt $lines ]; } ||
        { [ $code -ne 0 ] && grep -qv '^autokernel: ' stderr; } ||
        { [ $code -eq 2 ] && grep -q "$(printf '\033')" stderr; } ||
        { [ $code -ne 0 ] && ! [ -s stderr ]; }; then
        printf 'code %s:' $code
        printf ' %q' "${line[@]}" | cut -c 1-300
        echo
        head -c 500 stderr
    fi
done
echo "$tried command lines"
