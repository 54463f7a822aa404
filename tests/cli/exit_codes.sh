# What a user names and what is not there is a mistake of the user (exit code 2) in every command; an archive
# that has nothing of the kind yet is none (exit code 1).
try() { autokernel "$@" >out 2>&1; echo "exit $?: $*"; grep -q '^autokernel: ' out || cat out; }
for what in "report 0123456789abcdef" "report --run 0123456789abcdef" "compare 0123456789abcdef 0123456789abcdee" \
    "llm show 0123456789abcdef" "history --source 999" "history --remove #999" "history --remove 0123456789abcdef" \
    "history --run 0123456789abcdef" "best --run 0123456789abcdef" "stats --run 0123456789abcdef" \
    "export softmax --run 0123456789abcdef" "export softmax --format bundle --run 0123456789abcdef" \
    "export softmax --format bundle --config #999" "bench softmax --config #999" "check softmax --config #999"; do
    try $what
done
echo "-- an archive that is not there"
for what in report "report 0123456789abcdef" "llm show" history "history --source 4" "history --remove #4" best stats \
    "export softmax" "export softmax --format csv" "export softmax --format bundle"; do
    try $what --archive nosuch.db
done
echo "-- nothing of the kind yet"
for what in report "llm show" "best softmax" "export softmax" "export softmax --format bundle" "export softmax --format dispatch"; do
    try $what
done
