"""Commonhold's maintenance worker."""
