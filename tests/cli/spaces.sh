# Lists space files (T1) without a kernel; a bad one is refused in one line.
space() {
    printf '{"ConfigurationSpace": {"TuningParameters": [{"Name": "A", "Type": "int", "Values": "%s", "Default": 1},' "$1"
    printf '{"Name": "B", "Type": "int", "Values": [1, 2, 4], "Default": 2}], "Conditions": [{"Expression": "%s", "Parameters": ["A", "B"]}]},' "$2"
    printf '"KernelSpecification": {"Language": "CUDA", "KernelName": "k", "KernelFile": "k.cu"}}\n'
}
try() { space "$@" >space.json; autokernel list ./space.json --json | tr ',' '\n' | grep -E '"(cartesian|valid)"'; echo "exit ${PIPESTATUS[0]}"; }
try '[1, 2, 3]' 'A * B <= 4'
try '[1, 2, 3]' 'A > 5'
try '[1, 2, 3]' 'A > C'
try '[1, 2, 3]' 'A >'
try '[]' 'A > 0'
try '[1, 1]' 'A > 0'
space '[1, 2, 3]' 'A * B <= 4' >space.json
autokernel list ./space.json | tail -n 1
echo '{"ConfigurationSpace": {"TuningParameters": [{"Name": "A", "Name": "B"}]}}' >space.json
autokernel list ./space.json
echo "exit $?"
printf '[%.0s' $(seq 1000) >space.json
autokernel list ./space.json
echo "exit $?"
