"""The digits as spots."""

custom_imports = dict(imports=["spot_detector"])
model = dict(type="SpotDetector", num_classes=10)
task = dict(type="Detection", classes=[dict(name=str(digit), category_id=digit + 1) for digit in range(10)])
preprocess = dict(size=(64, 96), resize="letterbox", interpolation="bilinear", pad_value=114)
dataset = dict(type="DigitsDetection", split="val")
evaluator = dict(type="CocoBoxAP")
export = dict(exporter="dynamo", opset=20, inputs=dict(batch=(1, 2, 4)), rewriters=["spot_detector.SpotDetector.spots"])
