"""Synthetic street scenes, seen by a simulated LiDAR. Nothing in them was measured by a sensor."""
