"""The second door: access tokens of authorization servers (docs/reference/mcp.md, section 1.1)."""
