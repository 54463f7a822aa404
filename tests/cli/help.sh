# Help is complete: every command that is listed explains itself, with its options and examples.
autokernel --version
autokernel help
for command in $(autokernel help | sed -n 's/^  \([a-z]*\) .*/\1/p' | grep -v autokernel); do
    help=$(autokernel "$command" --help) || echo "$command --help failed"
    for part in "usage: autokernel $command" "options:" "--json" "--help" "examples:" "  autokernel $command"; do
        case $help in
        *"$part"*) ;;
        *) echo "$command --help lacks: $part" ;;
        esac
    done
    [ "$help" = "$(autokernel help "$command")" ] || echo "help $command differs from $command --help"
    # Help is given whatever else is wrong.
    autokernel "$command" --nonsense a b c -h >/dev/null || echo "$command: -h failed"
    awk -v c="$command" 'length($0) > 132 { print c ": a line of help is too long: " $0 }' <<<"$help"
done
autokernel tune --help
