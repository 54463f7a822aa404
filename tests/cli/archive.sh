# Imports trials, shows them by every command that reads the archive, and exports them.
cat >trials.csv <<'CSV'
timestamp,name,ms,tflops,status,config,device,size,dtype,implementation
2026-01-02T03:04:05.000Z,matmul,2.5,0.8,ok,"MR=6,KC=256",host,"M=1000,N=1000,K=1000",f32,host
2026-01-02T03:04:06.000Z,matmul,2,1,ok,"MR=8,KC=256",host,"M=1000,N=1000,K=1000",f32,host
2026-01-02T03:04:07.000Z,matmul,,,compile_error,"MR=9,KC=256",host,"M=1000,N=1000,K=1000",f32,host
2026-01-02T03:04:08.000Z,matmul,0.25,1,ok,"MR=8,KC=128",host,"M=500,N=500,K=500",f32,host
2026-01-02T03:04:09.000Z,elsewhere,1,,wrong_result,"A=1",cuda:0,"n=7",f16,cuda
CSV
autokernel import trials.csv
echo "-- a file twice, and again with one more"
autokernel import trials.csv
(cat trials.csv; echo '2026-01-02T03:04:09.000Z,elsewhere,1,,wrong_result,"A=2",cuda:0,"n=7",f16,cuda') >more.csv
autokernel import more.csv --archive more.db --json
autokernel import trials.csv --archive more.db --json
(tail -n 2 more.csv; sed -n 2p more.csv) | cat <(head -n 1 more.csv) - | sed 's/09.000Z,elsewhere,1/10.000Z,elsewhere,1/' >other.csv
autokernel import other.csv --archive more.db | head -n 1
echo "-- what is there"
autokernel history
autokernel history --limit 2
autokernel history matmul --status compile_error
autokernel history elsewhere
autokernel history --size M=500,N=500,K=500
autokernel best
autokernel best --device host --size M=1000,N=1000,K=1000
autokernel stats
echo "-- JSON"
autokernel history --json | tr ',' '\n' | grep -c '"status"'
autokernel history matmul --limit 1 --json
autokernel best --json | grep -c '"status": *"ok"'
autokernel stats --json
echo "-- export"
autokernel export matmul
echo "exit $?"
autokernel export matmul --size M=500,N=500,K=500 --output best500.json
autokernel export matmul --size M=500,N=500,K=500 --output - | grep -c '"kernel": *"matmul"'
autokernel export matmul --format csv | head -n 1 | cut -d, -f1-6
echo "-- what a file holds is seen by what is in it"
autokernel export matmul --format json | gzip >trials.json.gz
autokernel import trials.json.gz --archive seen.db | head -n 1
autokernel export matmul --size M=1000,N=1000,K=1000 --format kernel-tuner --output seen.json
autokernel import seen.json --archive seen2.db | head -n 1
autokernel import "$TESTS/../../bench/recordings/softmax.json.gz" --archive seen3.db | head -n 1
autokernel best --archive seen3.db | grep -o '^softmax *host ' # the device is that of the file
echo '{"a": 1}' >none.json
autokernel import none.json --archive seen.db
echo "exit $?"
echo "-- in formats"
for format in csv json; do
    autokernel export matmul --format $format --output "out.$format"
    autokernel import "out.$format" --format $format --archive "copy-$format.db"
    autokernel export matmul --format $format --archive "copy-$format.db" --output "again.$format"
    # Apart from the rows' numbers, what comes back is what went out.
    autokernel history --json | grep -c '"kernel": *"matmul"'
    autokernel history --archive "copy-$format.db" --json | grep -c '"kernel": *"matmul"'
done
autokernel export elsewhere --format best
echo "exit $?"
echo "-- without sizes"
printf 'name,device,config,ms,status\nx,host,A=1,1,ok\n' >bare.csv
autokernel import bare.csv --archive bare.db
autokernel best --archive bare.db | tail -n 1
autokernel export x --archive bare.db --output bare.json
echo "-- bad files"
printf 'timestamp,name\n1,2,3\n' >bad.csv
autokernel import bad.csv
echo "exit $?"
printf 'name,config,ms,status\nx,A=1,1,ok\nx,A=2,1,oops\n' >half.csv
autokernel import half.csv
echo "exit $?"
autokernel import nosuch.csv
echo "exit $?"
echo '{' >bad.json
autokernel import bad.json --format json
echo "exit $?"
autokernel stats | head -n 1
