"""A client of `autokernel mcp` for the golden tests: sends lines, prints what matters of the replies."""
import json
import subprocess

LEFT_OUT = ("timestamp", "compile_ns", "check_ns", "measure_ns", "seconds_left")


class Client:
    def __init__(self, *arguments, revision="2025-06-18", start=True):
        self.process = subprocess.Popen(["autokernel", "mcp", *arguments], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.count = 0
        self.notices = []
        if start:
            self.request("initialize", protocolVersion=revision, capabilities={},
                         clientInfo={"name": "test", "version": "1"})
            self.notify("notifications/initialized")

    def line(self, text):
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()

    def notify(self, method, **params):
        self.line(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}))

    def send(self, method, **params):
        self.count += 1
        self.line(json.dumps({"jsonrpc": "2.0", "id": self.count, "method": method, "params": params}))
        return self.count

    def receive(self):
        return json.loads(self.process.stdout.readline())

    def reply(self):
        while True:
            message = self.receive()
            if not isinstance(message, dict) or "method" not in message:
                return message
            self.notices.append(message["params"])

    def request(self, method, **params):
        number = self.send(method, **params)
        message = self.reply()
        assert message["id"] == number, message
        return message

    def tool(self, tool, **arguments):
        """The structured content, or what went wrong as a text."""
        message = self.request("tools/call", name=tool, arguments=arguments, _meta={"progressToken": "p"})
        if "error" in message:
            return "%d: %s" % (message["error"]["code"], message["error"]["message"])
        result = message["result"]
        if result["isError"]:
            return "failed: " + result["content"][0]["text"]
        self.text = result["content"][0]["text"]
        return result["structuredContent"]

    def say(self, tool, **arguments):
        """Calls a tool and prints its text, or what went wrong."""
        result = self.tool(tool, **arguments)
        print(result if isinstance(result, str) else self.text.rstrip())
        return result

    def close(self):
        self.process.stdin.close()
        rest = self.process.stdout.read()
        print("exit", self.process.wait(), "rest", repr(rest))
