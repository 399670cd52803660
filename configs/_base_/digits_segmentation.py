"""The digits as a semantic segmentation task: each visible stroke has its digit's class. Index = the model's own id."""

task = dict(
    type="SemanticSegmentation",
    classes=[
        dict(name="background", category_id=0),
        *[dict(name=str(digit), category_id=digit + 1) for digit in range(10)],
    ],
)
dataset = dict(type="DigitsSegmentation", split="val")
gate_dataset = dict(type="DigitsSegmentation", split="gate")
calibration_dataset = dict(type="DigitsTrainingScenes")
evaluator = dict(type="MeanIoU", num_classes=11)
