# Help is complete: each command explains itself, with its options and examples. These are listed in
# the .out file; what help says in prose may change freely.
autokernel --version
autokernel help | grep -E '^(usage|Exit codes|  autokernel (doctor|tune matmul)$)'
commands=$(autokernel help --json | tr '{' '\n' | sed -n 's/.*"name": *"\([a-z]*\)".*"summary".*/\1/p')
echo $commands
for command in $commands; do
    autokernel help | grep -q "^  $command  *[a-z]" || echo "help does not list $command"
    help=$(autokernel "$command" --help) || echo "$command --help failed"
    for part in "usage: autokernel $command" "options:" "--help" "examples:" "  autokernel $command"; do
        case $help in
        *"$part"*) ;;
        *) echo "$command --help lacks: $part" ;;
        esac
    done
    # Every option that the command takes is explained, each on a line of its own.
    for option in $(autokernel help "$command" --json | sed 's/.*"options": *\[\([^]]*\)\].*/\1/; s/[",]/ /g'); do
        grep -q -E "^  --$option( |$)" <<<"$help" || echo "$command --help does not explain --$option"
    done
    # Every example begins as a user types it, and is a command that there is.
    sed '1,/^examples:$/d' <<<"$help" | grep -v -E '^  (autokernel [a-z]+|    )' | sed "s/^/$command: example: /"
    echo "$command:" $(autokernel help "$command" --json | sed 's/.*"options": *\[\([^]]*\)\].*/\1/; s/[",]/ /g')
    sed '1,/^examples:$/d' <<<"$help"
    [ "$help" = "$(autokernel help "$command")" ] || echo "help $command differs from $command --help"
    # Help is given whatever else is wrong.
    autokernel "$command" --nonsense a b c -h >/dev/null || echo "$command: -h failed"
    awk -v c="$command" 'length($0) > 80 { print c ": a line of help is too long: " $0 }' <<<"$help"
done
# What an option does is said for the command that takes it.
for command in compare check bench best history export import report simulate; do
    autokernel "$command" --help | tr -s ' \n' ' ' | grep -o -E "\(simulate,|searches for each strategy and recording \(default 25\), or|the format to read or write|tune's default" | sed "s/^/$command: of another command: /"
done
for command in best history stats export; do
    autokernel "$command" --help | tr -s ' \n' ' ' | grep -o 'where to run' | sed "s/^/$command: runs nothing: /"
done
# The manual page says it in the same words.
autokernel help --format man | grep -x 'seed of the inputs (default 0)'
echo "-- which time of a Kernel Tuner cache counts"
for command in import simulate; do autokernel $command --help | tr -s ' \n' ' ' | grep -o '[^.]*median of "times"[^.]*'; done
