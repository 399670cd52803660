"""The stages, one in each file: `STAGE`. They are found by their place; see gpu.stage."""
