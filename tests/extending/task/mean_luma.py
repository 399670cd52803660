"""The mean luma of an image, as a task that zooport does not know."""

custom_imports = dict(imports=["brightness", "brightness_proof"])
task = dict(type="Brightness")
model = dict(type="MeanLuma")
preprocess = dict(size=(64, 96), resize="stretch", interpolation="area")
dataset = dict(type="BrightnessFolder", root="../../../zoo/data/digits/val/images")
evaluator = dict(type="BrightnessError")
export = dict(exporter="dynamo", opset=20, inputs=dict(batch=(1, 2, 4)), output_level="final")
