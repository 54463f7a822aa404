# Each format of `list formats` is named where help and the MCP server name the formats one by one.
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
formats=$(autokernel list formats | sed -n 's/^  \([a-z0-9-]*\)  .*/\1/p')
bundles='bundle c'
autokernel export --help >export.txt
autokernel import --help >import.txt
cp "$TESTS"/../data/recordings/tiny.json .
PYTHONPATH=$TESTS PYTHONDONTWRITEBYTECODE=1 python3 - <<'END' | sort >offered.txt
from mcp_client import Client
tools = Client("tiny.json", "--device", "sim").request("tools/list")["result"]["tools"]
print(*next(t for t in tools if t["name"] == "export")["inputSchema"]["properties"]["format"]["enum"], sep="\n")
END
for format in $formats; do
    grep -qw -- "$format" export.txt || echo "export --help does not name $format"
    autokernel list formats | grep "^  $format " | grep -q 'export only\|the space of a task' || grep -qw -- "$format" import.txt ||
        echo "import --help does not name $format"
    case " $bundles " in *" $format "*) ;; *) echo "$format" ;; esac
done | sort >wanted.txt
diff wanted.txt offered.txt && wc -l <wanted.txt
