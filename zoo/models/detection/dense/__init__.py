"""torchvision's dense detectors, RetinaNet, FCOS and SSD, and their families."""

from zoo.models.detection.dense.fcos import build_fcos
from zoo.models.detection.dense.retina_net import build_retina_net
from zoo.models.detection.dense.retina_net_family import FCOSFamily, RetinaNetFamily
from zoo.models.detection.dense.ssd import build_ssd
from zoo.models.detection.dense.ssd_family import SSDFamily

__all__ = ["FCOSFamily", "RetinaNetFamily", "SSDFamily", "build_fcos", "build_retina_net", "build_ssd"]
