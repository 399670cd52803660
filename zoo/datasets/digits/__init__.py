"""The digits: how they are made, where they lie, and how they are read."""
