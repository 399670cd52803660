"""By what a deployment carries, any machine can see whether it computes what was proved: docs/deployments.md."""
