"""A metric on a data set, for the unpatched model and for each deployment of it, side by side."""
