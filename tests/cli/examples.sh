# Every example that help shows works as written (with fewer evaluations, where it tunes).
command -v gcc >/dev/null || { echo "no gcc"; exit 77; }
autokernel tune matmul --size M=512,N=512,K=512 --evals 1 --quiet >/dev/null || echo "tune failed"
cp "$TESTS/../../bench/recordings/matmul.json.gz" gemm.json.gz # what the examples call it
for command in help list doctor tune history best stats export import report check bench compare new; do
    while IFS= read -r line; do
        case $line in
        'autokernel tune '*--sizes*) line="$line --evals 3" ;; # one for each
        'autokernel tune '*) line="$line --evals 1" ;;
        esac
        echo "$line"
        eval "words=($line)"
        "${words[@]}" >out 2>err || { echo "exit $?"; cat err; }
    done < <(autokernel "$command" --help | sed -n '/^examples:/,$s/^  //p')
done
