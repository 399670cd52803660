"""Pre-training of a backbone: which digit is in this patch? Learnt from patches many times faster than from scenes."""

import copy
import math

import torch
import torch.nn.functional as F
from mmengine.device import get_device
from torch import Tensor, nn
from torch.utils.data import DataLoader

from pipeline.training.batch_worker import without_hang_ups
from pipeline.training.opencv_threads import one_opencv_thread
from pipeline.training.recipe import Pretraining
from zoo.datasets.digits.patches import NUM_CLASSES, DigitPatches
from zoo.models.resnet import ResNet18
from zoo.progress import Progress

LOG_INTERVAL = 50
WARMUP = 50
WEIGHT_DECAY = 0.02


@one_opencv_thread()
def pretrain(
    backbone: nn.Module, plan: Pretraining, *, num_scenes: int, seed: int, progress: Progress | None = None
) -> None:
    """Trains a backbone in place, as a classifier of patches of digits (AdamW, warm-up and cosine).

    `backbone`: as Family.backbone gives it. It is trained on mmengine's
    device; a ResNet at the default strides, without dilation, which costs a quarter: the weights have the same shapes.
    The offsets of deformable convolutions stay as they are. `progress` is called with what is learned, and iterations.
    """
    torch.manual_seed(seed)
    plain = ResNet18(backbone.conv1.out_channels) if isinstance(backbone, ResNet18) else copy.deepcopy(backbone)
    own_state = backbone.state_dict()
    plain.load_state_dict({name: own_state[name] for name in plain.state_dict()})
    channels = _last_map(plain.eval(), torch.zeros(1, 3, plan.side, plan.side)).shape[1]
    classifier = nn.Sequential(nn.Dropout(0.1), nn.Linear(channels, NUM_CLASSES))
    device = get_device()
    both = nn.ModuleList([plain, classifier]).to(device).train()
    optimizer = torch.optim.AdamW(both.parameters(), lr=plan.lr, weight_decay=WEIGHT_DECAY)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / WARMUP, 0.5 + 0.5 * math.cos(math.pi * step / plan.iterations))
    )
    patches = DigitPatches(plan.iterations * plan.batch_size, plan.side, num_scenes, seed)
    loader = DataLoader(patches, plan.batch_size, num_workers=1, prefetch_factor=4, worker_init_fn=without_hang_ups)
    right = 0
    for step, (images, digits) in enumerate(loader, 1):
        images, digits = images.to(device), digits.to(device)  # noqa: PLW2901 - the batch, where the model is
        logits = classifier(_last_map(plain, images).mean(dim=(2, 3)))
        loss = F.cross_entropy(logits, digits, label_smoothing=0.05)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]  # torch
        optimizer.step()
        schedule.step()
        right += int((logits.argmax(dim=1) == digits).sum())
        if step % LOG_INTERVAL == 0:
            accuracy = 100 * right / (LOG_INTERVAL * plan.batch_size)
            if progress is not None:
                progress(f"pre-training, loss {loss.item():.3f}, accuracy {accuracy:.1f}", step, plan.iterations)
            right = 0
    backbone.load_state_dict({**own_state, **plain.state_dict()})


def _last_map(backbone: nn.Module, images: Tensor) -> Tensor:
    maps = backbone(images)
    maps = getattr(maps, "feature_maps", maps)
    last: Tensor = maps if isinstance(maps, Tensor) else maps[-1]
    return last
