# The examples of the commands that check and measure, as in examples.sh.
commands="check bench compare"
. "$TESTS/examples.sh"
