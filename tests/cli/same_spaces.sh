# matmul_act has the space of matmul: parameters, Rank and family. Conditions differ by what the epilogue needs.
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
python3 - "$TESTS"/../../kernels <<'P'
import json, sys
spaces = [json.load(open("%s/%s/cuda_sm90.json" % (sys.argv[1], k))) for k in ("matmul", "matmul_act")]
families = [[s["Family"] for s in x["ConfigurationSpace"]["Starts"] if "Family" in s] for x in spaces]
print("parameters", spaces[0]["ConfigurationSpace"]["TuningParameters"] == spaces[1]["ConfigurationSpace"]["TuningParameters"])
print("Rank", spaces[0]["Rank"] == spaces[1]["Rank"])
print("family", len(families[0]) == 1 and families[0] == families[1])
P
