"""What data sets read and write, whatever their layout, and the faults that they find in it."""
