"""The official Python SDK's client drives `autokernel mcp`: it negotiates, lists, calls every tool,
checks results against the schemas that were announced, takes progress and cancels. The schemas
themselves are checked as an inspector does. Usage: agent.py EXECUTABLE"""
import sys

import anyio
import jsonschema
from mcp import Client, MCPError, StdioServerParameters

executable = sys.argv[1]


def server(*arguments):
    return StdioServerParameters(command=executable, args=["mcp", *arguments], env={"LC_ALL": "C"})


def demand(good, what):
    if not good:
        sys.exit("agent.py: " + what)


def look_at_schemas(tools):
    demand(len(tools) == 9, "there are %d tools" % len(tools))
    for tool in tools:
        for schema in tool.input_schema, tool.output_schema:
            jsonschema.Draft202012Validator.check_schema(schema)
            demand(schema["type"] == "object", tool.name + ": the schema is no object")
            demand(set(schema["required"]) <= set(schema["properties"]), tool.name + ": requires what it does not have")
        demand(tool.input_schema["additionalProperties"] is False, tool.name + ": takes unknown fields")
        demand(tool.description and tool.title and tool.annotations.read_only_hint is not None, tool.name + ": is not described")


async def every_tool(mode, revision):
    steps = []

    async def progress(done, total, message):
        steps.append((done, total, message))

    async with Client(server("tiny.json", "--device", "sim", "--evals", "9"), mode=mode) as client:
        demand(client.protocol_version == revision, "the revision is " + client.protocol_version)
        demand(client.server_info.name == "autokernel" and client.instructions, "it does not say who it is")
        look_at_schemas((await client.list_tools()).tools)
        calls = [("list_kernels", {}), ("describe_space", {"kernel": "tiny"}),
                 ("facts", {"kernel": "tiny", "config": {"x": 2}}), ("facts", {"kernel": "tiny", "config": {"x": 3}}),
                 ("measure", {"kernel": "tiny", "configs": [{}, {"x": 2, "y": 3}, {"x": 3}]}),
                 ("compare", {"kernel": "tiny", "configs": ["default", "#2"]}), ("history", {"kernel": "tiny"}),
                 ("best", {"kernel": "tiny"}), ("export", {"kernel": "tiny"})]
        for name, arguments in calls:  # the client checks each result against the tool's outputSchema
            result = await client.call_tool(name, arguments, progress_callback=progress)
            demand(not result.is_error and result.structured_content and result.content[0].text, name + " failed")
            if name == "measure":
                got = [trial["status"] for trial in result.structured_content["trials"]]
                demand(got == ["ok", "ok", "invalid"], "measured " + str(got))
                demand([done for done, _, _ in steps] == [0, 1, 2], "progress is " + str(steps))
        result = await client.call_tool("report", {})
        demand(result.is_error and "no run" in result.content[0].text, "there was a run to report")
        for name, arguments in [("measure", {"kernel": "tiny"}), ("best", {"kernel": "other"})]:
            demand((await client.call_tool(name, arguments)).is_error, name + " was not refused")
        try:
            await client.call_tool("none", {})
            demand(False, "there is a tool that there is not")
        except MCPError as error:
            demand(error.error.code == -32602, str(error))
        listed = (await client.list_resources()).resources
        uri = next(r.uri for r in listed if str(r.uri).endswith("docs/mcp.md"))
        demand("autokernel mcp" in (await client.read_resource(uri)).contents[0].text, "a document is not what it says")
        if mode == "legacy":
            await client.send_ping()


async def cancel():
    """A call that would take minutes ends when it is cancelled, and the session goes on."""
    async with Client(server("reduce", "--threads", "1", "--evals", "64")) as client:
        begun = anyio.Event()

        async def progress(done, total, message):
            begun.set()

        async def measure():
            await client.call_tool("measure", {"kernel": "reduce", "size": "1000", "configs": ["default"] * 64},
                                   progress_callback=progress)

        async with anyio.create_task_group() as group:
            group.start_soon(measure)
            await begun.wait()
            group.cancel_scope.cancel()
        result = await client.call_tool("history", {"kernel": "reduce"})
        demand(result.structured_content["matched"] < 32, "it was not cancelled")


anyio.run(every_tool, "auto", "2026-07-28")
anyio.run(every_tool, "legacy", "2025-11-25")
anyio.run(cancel)
print("the SDK's client and autokernel agree")
