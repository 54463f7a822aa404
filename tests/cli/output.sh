# Tests that a standard output that cannot be written is reported, and that a closed pipe ends a command
# silently.
autokernel help >/dev/full
echo "exit $?"
autokernel history --json >/dev/full
echo "exit $?"
autokernel stats --json >/dev/full
echo "exit $?"
autokernel help >&-
echo "exit $?"
autokernel help tune | head -n 1
# A pipe whose reading end is closed already.
mkfifo pipe
exec 3<>pipe 4>pipe 3<&-
autokernel help tune >&4
echo "exit $?"
exec 4>&-
# Closed standard streams must not end up in files.
export AUTOKERNEL_ARCHIVE=$PWD/closed.db
autokernel history <&- >&- 2>&-
echo "exit $?"
autokernel history
autokernel tune matmul --events /dev/full --size 0
echo "exit $?"
autokernel tune matmul --events /nosuch/events
echo "exit $?"
# No escape sequences where there is no terminal.
autokernel help tune | grep -c "$(printf '\033')" || true
