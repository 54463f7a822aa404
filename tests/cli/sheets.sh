# Spaces of devices that are not here, by their data sheets.
export AUTOKERNEL_LIBCUDA=$PWD/nowhere.so # as on a machine without a driver
try() { autokernel "$@" >out 2>err; echo "exit $?"; grep -v '^warning' err; }
try list matmul --impl cuda_sm90 --dtype bf16
sed -n 1,2p out
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
echo "-- the implementation says where"
try list matmul --impl host
sed -n 1p out
