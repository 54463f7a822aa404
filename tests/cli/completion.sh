# The completion of bash knows the values of options that have fixed lists, those of the command in question.
autokernel help --format bash >complete.bash
# shellcheck disable=SC1091
. ./complete.bash
complete_words() {
    COMP_WORDS=(autokernel "$@")
    COMP_CWORD=$#
    COMPREPLY=()
    _autokernel
    echo "$*: ${COMPREPLY[*]}"
}
complete_words tune matmul --strategy po
complete_words tune matmul --strategy = po
complete_words tune matmul --device ""
complete_words best --device ""
complete_words export matmul --format ""
complete_words import x.csv --format ""
complete_words report --format ""
complete_words simulate --format ""
complete_words help --format ""
complete_words tune matmul --objective ""
complete_words tune matmul --protocol ""
complete_words tune matmul --llm o
complete_words tune matmul --llm-share ""
complete_words history --status w
complete_words tune matmul --evals ""
complete_words tune matmul --strat
echo "-- bash makes three words of what has a colon"
complete_words tune matmul --device sim
complete_words tune matmul --device sim :
complete_words tune matmul --device sim : fi
complete_words tune matmul --device = cuda :
complete_words tune matmul --device cuda : 0 --strategy po
complete_words tune matmul --llm openai : gpt
complete_words tune ./a : b
COMP_WORDBREAKS=${COMP_WORDBREAKS//:} complete_words tune matmul --device cuda:
echo "-- other shells"
autokernel help --format zsh | grep -c -- '--protocol) values=( interleaved burst sustained )'
autokernel help --format fish | grep -- "_in tune' -l protocol " | grep -o -- "-f -a '[^']*'"
