"""The tests. A package, because a library of the extras installs one of this name, which would hide a folder."""
