"""A deployment over many inputs on many machines, by Ray (extra `[scale]`), which is imported when it is used."""
