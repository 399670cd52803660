"""The input and the export of torchvision's segmentors."""

# torchvision's transform makes the shorter side 520, with antialiasing where it shrinks; here an image of 4:3 becomes
# 520x693, without. 704 is the next multiple of 32.
preprocess = dict(size=(520, 704), resize="letterbox", interpolation="bilinear", pad_value=114)
export = dict(
    exporter="dynamo",
    opset=20,
    inputs=dict(batch=(1, 2, 4)),
    output_level="final",
    rewriters=[],
)
