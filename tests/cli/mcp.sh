# Plays an agent's session over pipes: every tool on a recording, bad input, budgets, cancellation, and one
# real measurement on the host.
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
export PYTHONPATH=$TESTS PYTHONDONTWRITEBYTECODE=1
cp "$TESTS"/../data/recordings/tiny.json .
cp "$TESTS"/../../bench/recordings/matmul.json.gz .
echo "- every tool, on a recording"
python3 - <<'END'
import json
from mcp_client import Client
c = Client("tiny.json", "--device", "sim", "--evals", "6")
tools = c.request("tools/list")["result"]["tools"]
print(*(t["name"] for t in tools))
c.say("list_kernels")
space = c.say("describe_space", kernel="tiny")
print(space["valid"], space["default"], [p["values"] for p in space["parameters"]])
print(json.dumps(c.tool("facts", kernel="tiny", config={"x": 2, "z": "a"})))
c.say("facts", kernel="tiny", config={"x": 3})
r = c.say("measure", kernel="tiny", configs=[{}, {"x": 2, "y": 3}, "x=4,z=a", {"x": 3}, {"w": 1}, "#1"])
print(r["stopped_by"], r["budget"], sorted(r["trials"][0])[:6])
print([(n["progressToken"], n["progress"], n["total"], n["message"]) for n in c.notices][-2:])
c.say("history", kernel="tiny", limit=2)
c.say("history", kernel="tiny", status="wrong_result")
c.say("best", kernel="tiny")
c.say("compare", kernel="tiny", configs=["default", "#3"])
print([line.split(",")[:5] for line in c.tool("export", kernel="tiny", format="csv")["content"].splitlines()][2])
print(json.loads(c.tool("export", kernel="tiny")["content"])["config"])
print(sorted(json.loads(c.tool("export", kernel="tiny", format="t1")["content"])))
print("- the budget")
c.say("measure", kernel="tiny", configs=[{}])
c.say("compare", kernel="tiny", configs=[{}])
c.close()
c = Client("tiny.json", "--device", "sim", "--evals", "2", "--archive", "other.db")
c.say("compare", kernel="tiny", configs=[{}, {"x": 2}, {"x": 4}])
print(c.say("measure", kernel="tiny", configs=[{}, {"x": 2}, {"x": 4}])["stopped_by"])
c.close()
END
echo "- what is wrong"
python3 - <<'END'
import json
from mcp_client import Client
c = Client("tiny.json", "--device", "sim", "--archive", "wrong.db", start=False)
def show(reply):
    if "error" in reply:
        print(reply.get("id"), reply["error"]["code"], reply["error"]["message"])
    else:
        print(reply["id"], reply["result"]["isError"], reply["result"]["content"][0]["text"])
def line(text):
    c.line(text)
    show(c.reply())
line("{")
line('{"jsonrpc": "2.0", "id": 1, "id": 2, "method": "ping"}')
line("\0")
line("[" * 100)
line("17")
line('{"id": 1, "method": "ping"}')
line('{"jsonrpc": "2.0", "id": null, "method": "ping"}')
line('{"jsonrpc": "2.0", "id": 1.5, "method": "ping"}')
line('{"jsonrpc": "2.0", "id": "a", "method": 7}')
line('{"jsonrpc": "2.0", "id": "b", "method": "tools/list", "params": [1]}')
line(" " * (1 << 20) + "{}")
show(c.request("server/discover"))
show(c.request("tools/list"))
show(c.request("initialize"))
c.line('{"jsonrpc": "2.0", "id": 99, "result": {}}')  # a reply that nobody waits for
c.line("")
print(c.request("ping")["result"])
print(c.request("initialize", protocolVersion="2099-01-01")["result"]["protocolVersion"])
show(c.request("initialize", protocolVersion="2025-06-18"))
show(c.request("tools/list"))
c.line('{"jsonrpc": "2.0", "id": "i", "method": "notifications/initialized"}')
print(c.reply()["result"])
c.notify("notifications/initialized")
c.notify("notifications/unheard_of")
c.notify("notifications/cancelled", requestId=12345)
line('[{"jsonrpc": "2.0", "id": 1, "method": "ping"}]')
show(c.request("tools/call"))
show(c.request("tools/call", name="mesure", arguments={}))
show(c.request("tools/call", name="\ud7ff" * 40, arguments={}))
show(c.request("tools/call", name="measure", arguments=[]))
show(c.request("resources/read", uri="autokernel://kernels/tiny/../../etc/passwd"))
show(c.request("resources/read", uri="file:///etc/passwd"))
show(c.request("resources/read"))
for arguments in ({}, {"kernel": "tiny"}, {"kernel": "matmul", "configs": [{}]}, {"kernel": 7, "configs": [{}]},
                  {"kernel": "tiny", "configs": []}, {"kernel": "tiny", "configs": [{}] * 65},
                  {"kernel": "tiny", "configs": [3]}, {"kernel": "tiny", "configs": [{"x": [1]}]},
                  {"kernel": "tiny", "configs": [{}], "siz": "64"}, {"kernel": "tiny", "configs": [{}], "evals": 9},
                  {"kernel": "tiny", "configs": [{}], "size": "9" * 401}):
    print(c.tool("measure", **arguments))
print(c.tool("history", kernel="tiny", limit=0))
print(c.tool("history", kernel="tiny", status="fine"))
print(c.tool("export", kernel="tiny", format="bundle"))
print(c.tool("export", kernel="tiny"))
print(c.tool("report", run="x"))
print("- no way to other files or devices")
for config in ("@/etc/passwd", "#1;@/etc/passwd", "#77", "x=1;x=2"):
    c.say("measure", kernel="tiny", configs=[config])
for device in ("host", "sim:/etc/passwd"):
    print(c.tool("measure", kernel="tiny", configs=[{}], device=device))
c.close()
c = Client("reduce", "--archive", "wrong.db")
for device in ("sim:tiny.json", "sim", "/etc/passwd"):
    print(c.tool("describe_space", kernel="reduce", device=device))
print(c.tool("describe_space", kernel="reduce", implementation="../matmul/host"))
print("- messages name tools and their arguments, not commands and options")
print(c.tool("describe_space", kernel="reduce", device="none"))
c.close()
END
autokernel mcp nothing </dev/null; echo $?
autokernel mcp --evals 0 </dev/null; echo $?
autokernel mcp matmul matmul </dev/null; echo $?
echo "- what a task ignores"
autokernel new kernel half >/dev/null
sed -i s/1048576/4096/ half/problem.json
sed -i '0,/for (/s/ *for (/#pragma omp parallel for\n&/' half/host.c
sed -i '0,/"Default": 1,/s/{ "Name": "THREADS"/{ "Name": "TILE", "Type": "int", "Values": [1, 2] },\n      &/' half/host.json
python3 - <<'END'
from mcp_client import Client
c = Client("./half", "--archive", "half.db")
for tool, more in ("describe_space", {}), ("measure", {"configs": ["default"]}), ("compare", {"configs": ["default"]}):
    print(tool, c.tool(tool, kernel="half", **more)["warnings"][:2], c.text.startswith("warning: "))
c.close()
END
echo "- no way to other kernels"
export AUTOKERNEL_ARCHIVE=$PWD/both.db
sed 's/"tiny"/"other"/' tiny.json >other.json
for kernel in tiny other; do autokernel tune $kernel.json --device sim --evals 3 --quiet >/dev/null 2>&1; done
python3 - <<'END'
import json, subprocess
from mcp_client import Client
runs = json.loads(subprocess.run(["autokernel", "history", "--runs", "--json"], capture_output=True, text=True).stdout)
ids = {run["kernel"]: run["id"] for run in runs}
trials = json.loads(subprocess.run(["autokernel", "export", "--format", "json", "--output", "-", "other", "--device", "sim"],
                                   capture_output=True, text=True).stdout)
print(sorted(ids))
c = Client("tiny.json", "--device", "sim")
print([json.loads(c.tool("report", format="json", **run)["report"])["run"]["kernel"]
       for run in ({}, {"run": ids["tiny"]}, {"run": ids["tiny"][:9]})])
for run in (ids["other"], ids["other"][:9], "0000", "#1"):
    print(c.tool("report", run=run).replace(run, "RUN"))
number = trials[0]["id"]
for config in ("#%d" % number, "#99"):
    print(str(c.tool("facts", kernel="tiny", config=config)).replace("#%d" % number, "#N"))
print(c.tool("measure", kernel="tiny", configs=["#%d" % number])["trials"][0]["status"])
for tool in "history", "best", "export", "describe_space":
    print(c.tool(tool, kernel="other"))
print(c.request("resources/read", uri="autokernel://kernels/other/host.c")["error"]["message"])
c.close()
END
echo "- the newest revision, which has no sessions"
python3 - <<'END'
from mcp_client import Client
c = Client("tiny.json", "--device", "sim", "--archive", "new.db", "--evals", "3", start=False)
NAME = "io.modelcontextprotocol/"
def ask(method, revision="2026-07-28", capabilities={}, **params):
    reply = c.request(method, **params, _meta={NAME + "protocolVersion": revision, NAME + "clientCapabilities": capabilities})
    return reply.get("result") or reply["error"]
found = ask("server/discover")
print(found["resultType"], found["supportedVersions"], found["_meta"][NAME + "serverInfo"]["name"], found["cacheScope"])
print(len(ask("tools/list")["tools"]), ask("resources/list")["ttlMs"])
result = ask("tools/call", name="measure", arguments={"kernel": "tiny", "configs": [{}, {"x": 3}]})
print(result["resultType"], result["isError"], [t["status"] for t in result["structuredContent"]["trials"]])
print(ask("tools/call", name="measure", arguments={"kernel": "tiny"})["content"][0]["text"])
print(ask("tools/call", name="none", arguments={}))
print(ask("tools/list", revision="2099-01-01"))
print(ask("tools/list", revision=7))
print(ask("tools/list", capabilities=[]))
print(c.request("server/discover")["error"]["message"], "/", c.request("tools/list")["error"]["message"])
c.close()
END
echo "- older revisions"
python3 - <<'END'
import json
from mcp_client import Client
for revision in "2024-11-05", "2025-03-26":
    c = Client("tiny.json", "--device", "sim", "--archive", "old.db", revision=revision)
    r = c.request("tools/call", name="best", arguments={"kernel": "tiny"})["result"]
    print(sorted(r), [t["text"] for t in r["content"]])
    print(c.tool("measure"))
    c.line("[]")
    print(c.reply()["error"]["message"])
    c.line(json.dumps([{"jsonrpc": "2.0", "id": 1, "method": "ping"}] * 65))
    print(c.reply()["error"]["message"])
    c.line('[{"jsonrpc": "2.0", "id": 7, "method": "ping"}, {"jsonrpc": "2.0", "method": "x"}, 3]')
    print(c.reply())
    c.close()
END
echo "- files to read"
python3 - <<'END'
from mcp_client import Client
c = Client("matmul")
files = c.request("resources/list")["result"]["resources"]
print([f["uri"] for f in files if "/host" in f["uri"] or "reference" in f["uri"] or "problem" in f["uri"]])
print([(f["uri"], f["mimeType"]) for f in files if f["uri"].endswith((".cl", ".py"))])
print(files[0]["mimeType"], c.request("resources/templates/list")["result"])
for uri in "autokernel://kernels/matmul/problem.json", "autokernel://docs/mcp.md":
    got = c.request("resources/read", uri=uri)["result"]["contents"][0]
    print(got["uri"], got["mimeType"], len(got["text"]) > 500)
c.close()
END
autokernel new kernel own >/dev/null
ln -s /etc/passwd own/passwd.json
sed -i 's/\[1, 2, 4, 8\]/[1, 2, 4, 8, 32]/' own/host.json # UNROLL=32 breaks the condition with any number of threads
python3 - <<'END'
from mcp_client import Client
c = Client("./own")
print([f["name"] for f in c.request("resources/list")["result"]["resources"] if "kernels" in f["name"]])
print(len(c.request("resources/read", uri="autokernel://kernels/own/host.c")["result"]["contents"][0]["text"]) > 100)
print(c.tool("describe_space", kernel="own")["parameters"][0]["values"], "\nUNROLL: 1 2 [4] 8; " in c.text)
c.close()
END
echo "- on the host"
autokernel new kernel mine >/dev/null
python3 - <<'END'
import shutil, subprocess
from mcp_client import Client
c = Client("reduce", "--archive", "host.db", "--threads", "1")
r = c.tool("measure", kernel="reduce", size="1000", configs=["default"])
t = r["trials"][0]
line, *code = (l for l in c.text.rstrip().split("\n") if not l.startswith("warning: the machine was busy "))
print(line)
print(code == ["  " + t["code"]] and t["code"].startswith("hot loop: ") if shutil.which("objdump") else not code)
ci = t["ci_ms"] # on a busy machine there are too few samples for an interval
print(t["status"], t["strategy"], t["device"], ci[0] <= t["ms"] <= ci[1] if ci else "no interval" in line, t["efficiency"] > 0)
f = c.tool("facts", kernel="reduce", size="1000", config="#1")["facts"]
print(f["text"] == t["config"], f["compiler"], "-march=native" in f["options"], f["threads"])
print("- cancelled")
c.notices.clear()
number = c.send("tools/call", name="measure", _meta={"progressToken": 5},
                arguments={"kernel": "reduce", "size": "1000", "configs": ["default"] * 64})
waits = c.send("tools/call", name="measure", arguments={"kernel": "reduce", "size": "1000", "configs": ["default"]})
print(c.receive()["params"])
print(c.send("ping") == c.reply()["id"])
c.notify("notifications/cancelled", requestId=waits)
c.notify("notifications/cancelled", requestId=number, reason="enough")
print(c.tool("history", kernel="reduce")["matched"] < 10)
c.send("tools/call", name="measure", arguments={"kernel": "reduce", "size": "1000", "configs": ["default"] * 64})
c.process.stdin.close()
print("exit", c.process.wait(), '"stopped_by":null' in c.process.stdout.read())
print("- a task is told whole, and what only the command line can do is left to it")
c = Client("rmsnorm", "--archive", "told.db", "--threads", "1")
r = c.tool("measure", kernel="rmsnorm", size="rows=7", configs=["default"])
print(*(w for w in r["warnings"] if "busy" not in w))
c.tool("measure", kernel="rmsnorm", size="rows=7,cols=1024", choices="weight=none", configs=["default"])
c.tool("best", kernel="rmsnorm")
print(*(l.split("; ")[1] for l in c.text.splitlines() if " ms; " in l), sep="\n")
c.say("export", kernel="rmsnorm", format="dispatch")
c.close()
print("- a kernel that has changed since, and what the same code counts")
c = Client("./mine", "--archive", "mine.db", "--threads", "1")
kernel = c.tool("list_kernels")["kernels"][0]["name"]
print(c.tool("measure", kernel=kernel, size="1000", configs=["default"] * 3)["budget"]["evaluations_left"])
print(c.tool("best", kernel=kernel)["warnings"], c.tool("export", kernel=kernel)["warnings"])
with open("mine/host.c", "a") as source:
    source.write("/* changed */\n")
for format in ("best", "csv"):
    print(c.tool("export", kernel=kernel, format=format)["warnings"])
c.say("best", kernel=kernel)
c.close()
was = subprocess.run(["autokernel", "history", "--source", "1", "--archive", "mine.db"], capture_output=True, text=True).stdout
print("mine/host.c" in was, "/* changed */" in was)
print("- time is up")
c = Client("reduce", "--archive", "host.db", "--threads", "1", "--time", "0.1")
c.tool("measure", kernel="reduce", size="1000", configs=["default"] * 9)  # may have begun in time, on a fast machine
print(c.tool("measure", kernel="reduce", size="1000", configs=["default"] * 9))
print(c.tool("list_kernels")["budget"])
c.close()
END
