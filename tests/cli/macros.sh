# A space whose parameters, values and "Defines" become one macro that the source reads is refused.
cp -r "$TESTS/../data/kernels/double" "$TESTS/../data/kernels/common" .
cp double/host.json host.json
sed -i '1a #if UNROLL && MODE_is_b_c\n# define TWICE 1\n#endif' double/host.c
try() { # PARAMETERS [KERNEL'S MEMBERS]
    sed "s/\"Default\": 4 }/&, $1/; s/\"KernelFile\"/${2:-} &/" host.json >double/host.json
    autokernel list ./double | grep -E "^(MODE|UNROLL)" || echo refused
}
try '{"Name": "MODE", "Type": "string", "Values": ["b-c", "b+c", "d"]}'
try '{"Name": "MODE", "Type": "string", "Values": ["b_c", "d"]}, {"Name": "MODE_is_b_c", "Values": [0, 1]}'
try '{"Name": "MODE", "Values": [1, 2]}' '"Defines": {"UNROLL": "7"},'
echo "-- the source does not read the macro, or there is none"
try '{"Name": "MODE", "Type": "string", "Values": ["+", "-", "b-c"]}'
try '{"Name": "MODE", "Type": "string", "Values": ["b-c", "b+c"], "Use": "option", "Option": "-DMODE={}"}'
