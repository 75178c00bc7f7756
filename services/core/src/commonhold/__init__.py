"""Commonhold: the state plane for LLM agents. See docs/architecture.md for the map."""
