"""The digits as a detection task: boxes around the visible strokes. Index = the model's own id."""

task = dict(
    type="Detection",
    classes=[
        dict(name="background", category_id=None),
        *[dict(name=str(digit), category_id=digit + 1) for digit in range(10)],
    ],
)
dataset = dict(type="DigitsDetection", split="val")
gate_dataset = dict(type="DigitsDetection", split="gate")
calibration_dataset = dict(type="DigitsTrainingScenes")
evaluator = dict(type="CocoBoxAP")
preprocess = dict(size=(256, 320), resize="letterbox", interpolation="bilinear", pad_value=114)
