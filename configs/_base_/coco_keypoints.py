"""COCO's persons and their 17 keypoints: nose, eyes, ears, shoulders, elbows, wrists, hips, knees, ankles."""

task = dict(
    type="KeypointDetection",
    classes=[dict(name="no person", category_id=None), dict(name="person", category_id=1)],
)
dataset = dict(
    type="CocoKeypoints",
    images="../../data/coco/val2017",
    annotations="../../data/coco/annotations/person_keypoints_val2017.json",
)
evaluator = dict(type="CocoKeypointAP")
