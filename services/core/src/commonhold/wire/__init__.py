"""The JSON of wire 6, shared by the service that answers it and by stores that call it."""
