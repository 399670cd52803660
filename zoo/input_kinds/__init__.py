"""What models take."""
