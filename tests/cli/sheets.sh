# Lists the spaces of devices that this machine does not have, from their data sheets.
export AUTOKERNEL_LIBCUDA=$PWD/nowhere.so # as on a machine without a driver
try() { autokernel "$@" >out 2>err; echo "exit $?"; grep -v '^warning' err; }
try list matmul --impl cuda_sm90 --dtype bf16
sed -n 1,3p out
grep -E -c '^(num_stages|CLUSTER_M) ' out
grep '^Cartesian' out
grep '^next:' out
echo "-- named"
try list matmul --impl cuda_sm80 --dtype f16 --device cuda:A100 --size 65536 --json
grep -o '"device":"cuda:A100","size":"M=65536,N=65536,K=65536"' out
grep -E -o '"valid":[1-9]' out | tr '1-9' '9'
echo "-- nothing can be run"
try tune softmax --device cuda:H200
try check softmax --device cuda:H100
try tune matmul --impl cuda_sm90
try list matmul --device cuda:0
try list matmul --device cuda:H100,cuda:A100
echo "-- trials of elsewhere are found by sizes as they are typed"
cat >trials.csv <<'CSV'
name,ms,status,config,device,size,dtype,implementation
matmul,0.25,ok,"num_stages=4",cuda:0,"M=4096,N=4096,K=4096",bf16,cuda_sm90
CSV
autokernel import trials.csv | head -n 1
try best matmul --impl cuda_sm90 --size 4096
grep -c 'num_stages=4' out
echo "-- the implementation says where"
try list matmul --impl host
sed -n 1p out
echo "-- precisions of f32"
try list matmul --impl cuda_f32 --dtype f32 --device cuda:H200 --set precision=bf16x3
try list matmul --impl cuda_sm90_split --dtype f32 --device cuda:H200
