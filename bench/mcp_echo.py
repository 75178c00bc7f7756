"""The floor of tool calls: the SDK's own server with one tool that answers what it is given.

    python -m bench.mcp_echo PORT

As the SDK serves it: uvicorn with the loop and the parser that the gateway has too, without
sessions, and without the access log that would cost it a line a call.
"""

import sys

from mcp.server import MCPServer

HOST = "127.0.0.1"
TOOL = "echo"


def echo(text: str) -> str:
    return text


def main(arguments: list[str]) -> None:
    (port,) = map(int, arguments)
    server = MCPServer("echo", log_level="WARNING")
    server.add_tool(echo, name=TOOL, structured_output=False)
    server.run(transport="streamable-http", host=HOST, port=port, stateless_http=True)


if __name__ == "__main__":
    main(sys.argv[1:])
