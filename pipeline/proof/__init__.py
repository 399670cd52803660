"""What shows that the deployment still is the model, and how it is shown."""
