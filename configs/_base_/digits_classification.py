"""The digits as a classification task: the digit at the middle of a crop. Index = the model's own id."""

task = dict(type="ImageClassification", classes=[dict(name=str(digit), category_id=digit + 1) for digit in range(10)])
dataset = dict(type="DigitsClassification", split="val")
gate_dataset = dict(type="DigitsClassification", split="gate")
calibration_dataset = dict(type="DigitsTrainingCrops")
evaluator = dict(type="Accuracy")
