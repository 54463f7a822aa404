# Tests that a search with a larger budget ends no worse, on the same recording with the same seed. (Nothing
# is measured, so the same seed gives the same figures on every machine.)
recordings=$TESTS/../../bench/recordings
best() {
    autokernel tune "$recordings/$1.json.gz" --device sim --seed "$2" --evals "$3" --json --quiet \
        --archive "$1-$2-$3.db" | grep -o '"best":{[^}]*}[^}]*"ms":[0-9.e-]*' | sed 's/.*"ms"://'
}
for recording in matmul_act softmax; do
    for seed in 1 2 3; do
        echo "$(best $recording $seed 20) $(best $recording $seed 60) $(best $recording $seed 240)" |
            awk -v what="$recording, seed $seed" \
                'NF == 3 && $2 <= 1.01 * $1 && $3 <= 1.01 * $2 { print what ": no worse"; next }
                 { print what ": worse with more evaluations: " $0 }'
    done
done
