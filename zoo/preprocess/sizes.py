"""The size that an image is resized to, by rule. All sizes are (height, width) in pixels."""

Size = tuple[int, int]


def letterbox_size(image: Size, canvas: Size, *, half_up: bool = False) -> Size:
    """As large as fits into the canvas at the image's own proportions. Half a pixel goes to the even size, or up."""
    scale = min(canvas[0] / image[0], canvas[1] / image[1])
    if half_up:
        return _scaled(image, scale)
    return max(1, round(image[0] * scale)), max(1, round(image[1] * scale))


def scaled_edge_size(image: Size, shortest: int, longest: int | None = None, multiple: int = 1) -> Size:
    """As `shortest_edge_size`, with one scale for both edges, half a pixel rounded up, as mmcv's Resize does it."""
    scale = shortest / min(image)
    if longest is not None:
        scale = min(longest / max(image), scale)
    height, width = _scaled(image, scale)
    return rounded_up(height, multiple), rounded_up(width, multiple)


def shortest_edge_size(image: Size, shortest: int, longest: int | None = None, multiple: int = 1) -> Size:
    """The shorter edge as long as `shortest`, the other in proportion, rounded down, as torchvision's Resize does it.

    Where the longer edge would then be longer than `longest`, that is its length, and the shorter one is in proportion,
    rounded, as the image processors of DETR and its relatives do it; an edge that has its length already keeps the
    image as it is. Each side is then rounded up to a multiple of `multiple`, as MaskFormer's does it.
    """
    short, long = min(image), max(image)
    exact = float(shortest)
    if longest is not None and long / short * shortest > longest:
        exact = longest * float(short) / float(long)
    edge = max(1, round(exact))
    resized = image if edge == short else _in_order(image, edge, max(1, int(exact * long / short)))
    return rounded_up(resized[0], multiple), rounded_up(resized[1], multiple)


def nearest_scale_size(image: Size, fit: Size, multiple: int = 1) -> Size:
    """By the scale that fits the height or the width of `fit`, whichever is nearer to 1, as DPT's image processor does.

    The height, if both are as near. Each side is then rounded to the nearest multiple of `multiple`, but not to 0.
    """
    by_height, by_width = fit[0] / image[0], fit[1] / image[1]
    scale = by_width if abs(1 - by_width) < abs(1 - by_height) else by_height
    height, width = (max(1, round(scale * side / multiple)) * multiple for side in image)
    return height, width


def padded_size(image: Size, divisor: int) -> Size:
    """Each side up to a multiple of `divisor`."""
    return rounded_up(image[0], divisor), rounded_up(image[1], divisor)


def rounded_up(side: int, multiple: int) -> int:
    """The nearest multiple that is not below `side`."""
    return -(-side // multiple) * multiple


def crop_offset(resized: Size, crop: Size, *, to_even: bool) -> Size:
    """(top, left) of the centre of a `resized` image. Half a pixel is rounded down, or to the even number."""
    top, left = ((side - part) / 2 for side, part in zip(resized, crop, strict=True))
    return (round(top), round(left)) if to_even else (int(top), int(left))


def _scaled(image: Size, scale: float) -> Size:
    return max(1, int(image[0] * scale + 0.5)), max(1, int(image[1] * scale + 0.5))


def _in_order(image: Size, short: int, long: int) -> Size:
    return (short, long) if image[0] <= image[1] else (long, short)
