"""What a deployment is timed against: the unpatched model, its plain export, or its graph in another backend."""
