"""The stand-in for mmcv's compiled operators, each compared with its definition in plain loops. No mmcv is needed."""

import math
import sys
from importlib.util import find_spec
from itertools import product
from types import ModuleType

import pytest
import torch
import torch.nn.functional as F

from zoo.codebases.mmcv_ext import stand_in
from zoo.codebases.mmcv_ext.stand_in import StandIn, is_stand_in, provide
from zoo.errors import InputError

EXT = StandIn()


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)


def random_boxes(count: int) -> torch.Tensor:
    corners = torch.rand(count, 2) * 40
    return torch.cat((corners, corners + 5 + torch.rand(count, 2) * 30), dim=1)


def overlap(a: torch.Tensor, b: torch.Tensor, offset: int = 0) -> float:
    def side(low: float, high: float) -> float:
        return max(0.0, high - low + offset)

    def area(box: torch.Tensor) -> float:
        return side(box[0], box[2]) * side(box[1], box[3])

    shared = side(max(a[0], b[0]), min(a[2], b[2])) * side(max(a[1], b[1]), min(a[3], b[3]))
    return float(shared / (area(a) + area(b) - shared))


@pytest.mark.parametrize("offset", [0, 1])
def test_nms(offset: int):
    boxes, scores = random_boxes(60), torch.rand(60)
    expected: list[int] = []
    for index in scores.argsort(descending=True).tolist():
        if all(overlap(boxes[other], boxes[index], offset) <= 0.4 for other in expected):
            expected.append(index)
    kept = EXT.nms(boxes, scores, iou_threshold=0.4, offset=offset)
    assert kept.tolist() == expected
    assert 5 < len(expected) < 50


def test_nms_compares_with_the_threshold_in_single_precision():
    boxes = torch.tensor([[0.0, 0.0, 10.0, 10.0], [0.0, 0.0, 10.0, 6.0]])  # an overlap of 0.6, rounded to float32
    kept = EXT.nms(boxes, torch.tensor([0.9, 0.8]), iou_threshold=0.6, offset=0)
    assert kept.tolist() == [0, 1]


@pytest.mark.parametrize(("method", "name"), list(enumerate(("naive", "linear", "gaussian"))))
def test_soft_nms(method: int, name: str):
    boxes, scores = random_boxes(25), torch.rand(25)
    remaining = {index: float(scores[index]) for index in range(25)}
    expected = []
    while remaining:
        best = max(remaining, key=remaining.__getitem__)
        expected.append((best, remaining.pop(best)))
        for index, score in list(remaining.items()):
            shared = overlap(boxes[best], boxes[index])
            weight = {
                "naive": 0.0 if shared >= 0.3 else 1.0,
                "linear": 1.0 - shared if shared >= 0.3 else 1.0,
                "gaussian": math.exp(-(shared**2) / 0.5),
            }[name]
            remaining[index] = score * weight
            if remaining[index] < 0.05:
                del remaining[index]
    dets = torch.empty(25, 5)
    options = {"iou_threshold": 0.3, "sigma": 0.5, "min_score": 0.05, "method": method, "offset": 0}
    kept = EXT.softnms(boxes, scores, dets, **options)
    assert kept.tolist() == [index for index, _ in expected]
    assert torch.equal(dets[: len(kept), :4], boxes[kept])
    assert dets[: len(kept), 4].tolist() == pytest.approx([score for _, score in expected], abs=1e-6)
    assert EXT.softnms(boxes[:0], scores[:0], dets[:0], **options).tolist() == []


def test_nms_match():
    boxes, scores = random_boxes(40), torch.rand(40)
    left = scores.argsort(descending=True).tolist()
    expected = []
    while left:
        best, *others = left
        group = [index for index in others if overlap(boxes[best], boxes[index]) >= 0.3]
        expected.append([best, *group])
        left = [index for index in others if index not in group]
    assert EXT.nms_match(torch.cat((boxes, scores[:, None]), dim=1), iou_threshold=0.3) == expected


def bilinear(cells: torch.Tensor, y: float, x: float) -> torch.Tensor:
    """Of cells [C, H, W], zeros outside."""
    total = torch.zeros(len(cells))
    top, left = math.floor(y), math.floor(x)
    for row, column in product((top, top + 1), (left, left + 1)):
        if 0 <= row < cells.shape[1] and 0 <= column < cells.shape[2]:
            total += cells[:, row, column] * (1 - abs(y - row)) * (1 - abs(x - column))
    return total


@pytest.mark.parametrize("aligned", [True, False])
def test_roi_align(aligned: bool):
    maps = torch.rand(2, 3, 12, 14)
    rois = torch.tensor([[0, 4.0, 4.0, 20.0, 18.0], [1, 6.0, 2.0, 22.0, 20.0]])
    output = torch.empty(2, 3, 2, 2)
    options = {"aligned_height": 2, "aligned_width": 2, "spatial_scale": 0.5, "sampling_ratio": 2, "pool_mode": 1}
    EXT.roi_align_forward(maps, rois, output, torch.empty(0), torch.empty(0), aligned=aligned, **options)
    for number, (image, *box) in enumerate(rois.tolist()):
        x1, y1, x2, y2 = (side * 0.5 - (0.5 if aligned else 0.0) for side in box)
        for row, column in product(range(2), range(2)):
            samples = [
                bilinear(
                    maps[int(image)],
                    y1 + (row + (i + 0.5) / 2) * (y2 - y1) / 2,
                    x1 + (column + (j + 0.5) / 2) * (x2 - x1) / 2,
                )
                for i, j in product(range(2), range(2))
            ]
            assert torch.allclose(output[number, :, row, column], sum(samples) / 4, atol=1e-5)
    with pytest.raises(InputError, match='got pool_mode="max".*use pool_mode="avg", or install mmcv'):
        EXT.roi_align_forward(maps, rois, output, output, output, aligned=aligned, **{**options, "pool_mode": 0})


@pytest.mark.parametrize("modulated", [True, False])
def test_deformable_convolution(modulated: bool):
    maps, weight, bias = torch.rand(2, 2, 6, 7), torch.rand(3, 2, 3, 3), torch.rand(3)
    offset, mask = torch.randn(2, 18, 3, 4), torch.rand(2, 9, 3, 4)
    output, scratch = torch.empty(2, 3, 3, 4), torch.empty(0)
    if modulated:
        EXT.modulated_deform_conv_forward(
            maps, weight, bias, scratch, offset, mask, output, scratch, kernel_h=3, kernel_w=3, stride_h=2, stride_w=2,
            pad_h=1, pad_w=1, dilation_h=1, dilation_w=1, group=1, deformable_group=1, with_bias=True,
        )  # fmt: skip
    else:
        EXT.deform_conv_forward(
            maps, weight, offset, output, scratch, scratch, kW=3, kH=3, dW=2, dH=2, padW=1, padH=1, dilationW=1,
            dilationH=1, group=1, deformable_group=1, im2col_step=2,
        )  # fmt: skip
    for image, row, column in product(range(2), range(3), range(4)):
        total = bias.clone() if modulated else torch.zeros(3)
        for point in range(9):
            dy, dx = offset[image, 2 * point : 2 * point + 2, row, column].tolist()
            sample = bilinear(maps[image], 2 * row - 1 + point // 3 + dy, 2 * column - 1 + point % 3 + dx)
            share = mask[image, point, row, column] if modulated else 1.0
            total += weight[:, :, point // 3, point % 3] @ sample * share
        assert torch.allclose(output[image, :, row, column], total, atol=1e-4)


@pytest.mark.parametrize("padding", [0, 1])
def test_masked_convolution(padding: int):
    image = torch.rand(1, 2, 6, 5)
    rows, columns = torch.tensor([0, 3, 3]), torch.tensor([2, 0, 2])
    col = torch.empty(2 * 9, 3)
    EXT.masked_im2col_forward(image, rows, columns, col, kernel_h=3, kernel_w=3, pad_h=padding, pad_w=padding)
    padded = F.pad(image[0], [padding, 3, padding, 3])
    for number, (row, column) in enumerate(zip(rows.tolist(), columns.tolist(), strict=True)):
        assert torch.equal(col[:, number], padded[:, row : row + 3, column : column + 3].flatten())
    output = torch.zeros(1, 4, 6, 5)
    values = torch.rand(4, 3)
    EXT.masked_col2im_forward(values, rows, columns, output, height=6, width=5, channels=4)
    assert torch.equal(output[0, :, 3, 0], values[:, 1])
    assert (output != 0).sum() == values.numel()


def test_carafe():
    features, masks = torch.rand(2, 4, 3, 5), torch.rand(2, 2 * 9, 6, 10)
    output = torch.empty(2, 4, 6, 10)
    options = {"kernel_size": 3, "group_size": 2, "scale_factor": 2}
    EXT.carafe_naive_forward(features, masks, output, **options)
    for n, c, row, column in product(range(2), range(4), range(6), range(10)):
        total = 0.0
        for i, j in product(range(3), range(3)):
            y, x = row // 2 + i - 1, column // 2 + j - 1
            if 0 <= y < 3 and 0 <= x < 5:
                total += features[n, c, y, x] * masks[n, c // 2 * 9 + i * 3 + j, row, column]
        assert output[n, c, row, column] == pytest.approx(float(total), abs=1e-5)
    again, scratch = torch.empty_like(output), torch.empty(0)
    EXT.carafe_forward(features, masks, scratch, scratch, scratch, again, **options)
    assert torch.equal(again, output)


def test_deformable_attention():
    sizes = [(4, 5), (2, 3)]
    value, places = torch.rand(2, 26, 2, 3), torch.rand(2, 7, 2, 2, 4, 2) * 1.4 - 0.2
    weights = torch.rand(2, 7, 2, 2, 4)
    starts = torch.tensor([0, 20])
    attended = EXT.ms_deform_attn_forward(value, torch.tensor(sizes), starts, places, weights, im2col_step=64)
    assert attended.shape == (2, 7, 6)
    for n, query, head in product(range(2), range(7), range(2)):
        total = torch.zeros(3)
        for level, (height, width) in enumerate(sizes):
            first = int(starts[level])
            cells = value[n, first : first + height * width, head].T.reshape(3, height, width)
            for point in range(4):
                x, y = places[n, query, head, level, point].tolist()
                total += weights[n, query, head, level, point] * bilinear(cells, y * height - 0.5, x * width - 0.5)
        assert torch.allclose(attended[n, query, 3 * head : 3 * head + 3], total, atol=1e-5)


@pytest.mark.parametrize("psa_type", [0, 1])
def test_psa_mask(psa_type: int):
    masks = torch.rand(2, 5 * 3, 3, 4)
    output = torch.empty(2, 12, 3, 4)
    EXT.psamask_forward(
        masks, output, psa_type=psa_type, num_=2, h_feature=3, w_feature=4, h_mask=5, w_mask=3, half_h_mask=2,
        half_w_mask=1,
    )  # fmt: skip
    expected = torch.zeros_like(output)
    for h, w, i, j in product(range(3), range(4), range(5), range(3)):
        y, x = h + i - 2, w + j - 1
        if 0 <= y < 3 and 0 <= x < 4:
            if psa_type == 0:
                expected[:, y * 4 + x, h, w] = masks[:, i * 3 + j, h, w]
            else:
                expected[:, h * 4 + w, y, x] = masks[:, i * 3 + j, h, w]
    assert torch.equal(output, expected)


def test_an_operator_that_is_not_there_says_so_when_it_is_called():
    operator = EXT.top_pool_forward  # mmcv asks for all names when it is imported
    with pytest.raises(InputError, match="mmcv._ext.top_pool_forward: mmcv is installed without .*; install mmcv with"):
        operator(torch.zeros(1))
    assert not hasattr(EXT, "__path__")
    assert EXT.__spec__.name == "mmcv._ext"


@pytest.fixture
def fake_mmcv(monkeypatch, tmp_path):
    """A package mmcv in the place of the real one, if there is one."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "mmcv"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(tmp_path)
    folder = tmp_path / "mmcv"
    folder.mkdir()
    (folder / "__init__.py").touch()
    yield folder
    for name in [name for name in sys.modules if name.partition(".")[0] == "mmcv"]:
        sys.modules.pop(name)


def test_it_stands_in_for_operators_that_are_missing(fake_mmcv):
    assert provide()
    import mmcv._ext

    assert mmcv._ext.nms is stand_in.OPERATORS["nms"]
    assert find_spec("mmcv._ext") is not None
    assert provide()  # again, in the same process


def test_it_leaves_compiled_operators_alone(fake_mmcv):
    (fake_mmcv / "_ext.py").write_text("nms = 1\n")
    assert not provide()
    assert not is_stand_in()
    import mmcv._ext

    assert isinstance(mmcv._ext, ModuleType)
    assert mmcv._ext.nms == 1
    assert not provide()
