# Tests that a candidate which damages the inputs or the red zones of the others gets none of them rejected.
command -v gcc >/dev/null || { echo "no gcc"; exit 77; }
[ "$(uname -m)" = x86_64 ] || { echo "the attack is written for x86-64"; exit 77; }
cp -r "$TESTS/../adversarial/sabotage" .
cp "$TESTS"/../adversarial/attacks/{problem.json,reference.c} sabotage # the same product
for seed in 1 2 3 4; do
    autokernel tune ./sabotage --evals 2 --seed $seed --libraries none --finish-time 1 --quiet >out.txt 2>&1
    autokernel history ./sabotage --limit 2 --json | grep -o '"config":"ATTACK=0","[^}]*"reason":[^,]*' |
        grep -o '"status":"[a-z_]*"'
    grep '^default .*failed' out.txt
done
# Calls alone come at the end of a comparison, one candidate after the other.
for attack in 2 3 2 3 2 3; do
    autokernel compare ./sabotage --config "ATTACK=$attack;ATTACK=0" --libraries none --time 0.5s >out.txt 2>&1
    grep '^config 2.*failed' out.txt
done
# Its inputs are other ones that have the same hash.
autokernel compare ./sabotage --config "ATTACK=4;ATTACK=0" --libraries none --time 0.5s >out.txt 2>&1
grep -o '^config 1.*changes its input X' out.txt | sed 's/ \+/ /g'
grep '^config 2.*failed' out.txt
true
