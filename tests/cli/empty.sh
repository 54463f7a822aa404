# Runs every command that reads the archive while the archive is empty.
try() { autokernel "$@"; echo "exit $?"; }
try history
try history --json
try history matmul --status ok --limit 3
try best
try best --json
try stats
try stats --json
try report
try report 0123456789abcdef
try export matmul
try export nosuchkernel
ls
