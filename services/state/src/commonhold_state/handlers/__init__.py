"""One function a route: parse, call the store once, render."""
