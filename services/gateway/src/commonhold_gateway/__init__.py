"""The MCP gateway: tools over the use cases, for any number of replicas."""
