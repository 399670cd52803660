"""COCO's layout: one JSON file of boxes, masks and keypoints."""
