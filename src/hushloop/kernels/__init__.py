"""Compiled inner loops, each with a numpy twin in `reference` modules that the tests hold it to."""
