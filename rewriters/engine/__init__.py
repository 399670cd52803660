"""The rewriter engine: declaring function rewriters, choosing them for a target, and patching while an export runs."""
