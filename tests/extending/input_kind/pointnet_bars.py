"""Bars that lie or stand, as clouds of points: an input that zooport does not know."""

custom_imports = dict(imports=["point_clouds", "point_clouds_proof"])
task = dict(
    type="PointClassification", classes=[dict(name="lying", category_id=0), dict(name="standing", category_id=1)]
)
model = dict(type="PointNet")
preprocess = dict(scale=0.5)
dataset = dict(type="Bars", root="clouds")
evaluator = dict(type="Accuracy")
export = dict(exporter="dynamo", opset=20, inputs=dict(batch=(1, 2, 4), count=(1, 128, 1024)), output_level="final")
