"""Deployments behind a server of others: what it is given to run, and what its clients send."""
