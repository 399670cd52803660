"""Super-resolution of photographs, each at its own size and without padding."""

task = dict(type="SuperResolution")
preprocess = dict(resize="keep", size_divisor=1)
export = dict(
    exporter="dynamo",
    opset=20,
    inputs=dict(batch=(1, 2, 8), height=(32, 96, 1024), width=(32, 128, 1024)),
    output_level="final",
    rewriters=[],
)
train = dict(
    batch_size=16,
    num_scenes=None,
    seed=0,
    optimizer=dict(type="Adam", lr=2e-3),
    warmup=50,
    crop=(32, 32),
    scale=(0.5, 1.0),
)
