"""How to connect common MCP clients, ready to paste; the same lines stand in the documents.

The token is never in them: each names the variable that the client takes it from, so that
it is in no file, no argument and no history of a shell.
"""

import shlex

import msgspec

TOKEN_VARIABLE = "NEOSIAN_CLIENT_TOKEN"  # noqa: S105 - a variable's name
SERVER_NAME = "commonhold"


def mcp_servers(url: str, *, reference: str = f"${{{TOKEN_VARIABLE}}}") -> str:
    """The `mcpServers` of a client that expands `reference` from its environment."""
    server = {
        "type": "http",
        "url": url,
        "headers": {"Authorization": f"Bearer {reference}"},
    }
    document = {"mcpServers": {SERVER_NAME: server}}
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode()


def export_token(token_file: str) -> str:
    """The line that puts the token into the environment of a shell and what it starts."""
    return f"export {TOKEN_VARIABLE}=$(cat {shlex.quote(token_file)})"


def command_lines(url: str) -> tuple[str, ...]:
    """One line a client that has a command for it."""
    server = msgspec.json.encode(
        {
            "type": "http",
            "url": url,
            "headers": {"Authorization": f"Bearer ${{{TOKEN_VARIABLE}}}"},
        }
    ).decode()
    return (
        f"claude mcp add-json --scope project {SERVER_NAME} {shlex.quote(server)}",
        f"codex mcp add {SERVER_NAME} --url {url} --bearer-token-env-var {TOKEN_VARIABLE}",
    )
