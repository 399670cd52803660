"""KITTI's object data set, and other clouds in its layout."""
