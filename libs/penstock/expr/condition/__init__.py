"""Conditions: the questions that transitions, branches and loops ask of data."""
