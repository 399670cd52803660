"""Patching while an export runs: declaring function rewriters, choosing them for a target, putting them in force."""
