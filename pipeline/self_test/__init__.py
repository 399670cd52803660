"""Making the self-test that a deployment carries."""
