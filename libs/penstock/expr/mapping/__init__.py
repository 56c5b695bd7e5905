"""Mappings: data built from variables, for a node's input, for the state, for a run's output."""
