"""The state service: wire 6 over the storage ports."""
