# Parameter importance of trials with known times: UNROLL matters, and KIND only at THREADS=2.
{
    echo name,ms,status,config,device,size,run
    for unroll in 1 2 4; do for threads in 1 2; do for kind in a b; do for n in 1 2 3 4; do
        ms=$((unroll * 10 + (threads == 2 ? (kind_slow = $([ $kind = b ] && echo 8 || echo 0)) : 4)))
        echo "demo,$ms,ok,\"UNROLL=$unroll,THREADS=$threads,KIND=$kind,N=$n\",host,n=64,0123456789abcdef"
    done; done; done; done
    echo 'demo,,crashed,"UNROLL=4,THREADS=1,KIND=a,N=1",host,n=64,0123456789abcdef'
} >demo.csv
autokernel import demo.csv --format csv >imported
echo "exit $?"
autokernel report | sed -n '/^Parameter importance/,/^Convergence/p'
echo "-- stats"
autokernel stats demo | sed -n '/^parameter importance/,$p'
autokernel stats demo --json | tr '{,' '\n\n' | grep -o -E '^"(impact|r2|pairs|with_pairs|best_region|where|tried)"' | sort -u | tr '\n' ' '
echo
echo "-- Markdown and JSON"
autokernel report --format md | grep -A 4 '^## Parameter importance'
autokernel report --json | grep -o -E '"(impact|within_5_percent|why_not|worst_region)"'
echo "-- too few"
head -n 6 demo.csv >few.csv
AUTOKERNEL_ARCHIVE=few.db autokernel import few.csv --format csv >imported
AUTOKERNEL_ARCHIVE=few.db autokernel stats demo | grep 'parameter importance'
exit 0
