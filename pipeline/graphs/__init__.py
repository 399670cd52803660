"""Reading and running graphs outside a deployment."""
