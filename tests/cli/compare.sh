# Compares configurations side by side: checks verdicts, and what tells noise from a difference, as text and
# as JSON.
command -v gcc >/dev/null || { echo "no gcc"; exit 77; }
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
autokernel new kernel mine >/dev/null
compare="autokernel compare ./mine --size 64 --config default --config UNROLL=8 --time 0.3s"
$compare >words
echo "exit $?"
grep -c -E '^config 2: (a tie with|not decided|[0-9.]+ times) ?(default|the default)?' words
grep -v "^reference: " words | grep -c reference
$compare --repeats 2 --json >lines
echo "exit $?"
python3 -c 'import json, sys; print({k: len(v) for k, v in json.load(sys.stdin).items()})' <lines 2>&1 | tail -n 1
grep -o -E '"(verdict|reference|summary|noise|control|deviation|pressure|before|during|after|rounds|disturbed|extended)":' lines | sort -u | tr '\n' ' '
echo
grep -o -E '"reference": ?"[^"]*"' lines | sort -u
grep -o -E '"verdict": ?("(faster|slower|tie|undecided)"|null)' lines | sed 's/.*: *"[a-z]*"/a verdict/; s/.*null/none/' | sort | uniq -c | sed 's/^ *//'
echo "-- only the default: nothing was searched"
autokernel compare ./mine --size 48 --time 0.1s | grep -o -E 'nothing (faster|is archived)'
