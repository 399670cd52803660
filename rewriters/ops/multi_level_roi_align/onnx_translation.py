"""The operator as ONNX: RoiAlign for each level on the boxes of that level, joined by Concat and one Gather.

order  = Concat over levels l of NonZero(levels == l)
pooled = Concat over levels l of RoiAlign(feature_l, rois[levels == l])
result = Gather(pooled, inverse of order)

The number of boxes is taken from `order`: after zooport::used_rows there may be fewer than torch's shapes say.
"""

from collections.abc import Sequence

from rewriters.ops.graph_builder import INT64, GraphBuilder


def translate(
    b: GraphBuilder, *tensors: str, scales: Sequence[float], output_size: Sequence[int], sampling_ratio: int
) -> str:
    """tensors: the features, rois, levels -> pooled float32 [R, C, *output_size]."""
    *features, rois, levels = tensors
    height, width = output_size
    image_index = b.Cast(b.Gather(rois, b.constant(0), axis=1), to=INT64)
    boxes = b.Gather(rois, b.constant([1, 2, 3, 4]), axis=1)
    order, pooled = [], []
    for level, (feature, scale) in enumerate(zip(features, scales, strict=True)):
        index = b.Squeeze(b.NonZero(b.Equal(levels, b.constant(level))), b.constant([0]))
        order.append(index)
        pooled.append(
            b.RoiAlign(
                feature,
                b.Gather(boxes, index),
                b.Gather(image_index, index),
                coordinate_transformation_mode="output_half_pixel",  # torchvision's aligned=False
                mode="avg",
                output_height=height,
                output_width=width,
                sampling_ratio=max(sampling_ratio, 0),
                spatial_scale=scale,
            )
        )
    result: str = pooled[0]
    if len(features) > 1:
        permutation = b.Concat(*order, axis=0)
        positions = b.Range(b.constant(0), b.size(permutation, 0), b.constant(1))
        inverse = b.ScatterElements(permutation, permutation, positions)
        result = b.Gather(b.Concat(*pooled, axis=0), inverse)
    return result
