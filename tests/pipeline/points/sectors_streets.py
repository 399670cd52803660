"""Synthetic streets, with a detector that is no model to be proud of."""

custom_imports = {"imports": ["sector_detector"]}
task = {
    "type": "Detection3D",
    "classes": [{"name": name, "category_id": number} for number, name in enumerate(("car", "pedestrian", "cyclist"))],
}
model = {"type": "SectorDetector"}
preprocess = {"intensity": (0.0, 1.0)}
dataset = {"type": "Streets", "split": "shipped", "count": 4}
evaluator = {"type": "CentreDistanceMAP"}
export = {
    "exporter": "torchscript",
    "opset": 20,
    "inputs": {"batch": 1, "count": (64, 2048, 20000)},
    "output_level": "final",
}
