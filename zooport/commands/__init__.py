"""The verbs: each module has `parser()`, the flags, and `run(options)`, the work; it gives what --json writes."""
