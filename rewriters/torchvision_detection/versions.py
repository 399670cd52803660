"""The torchvision versions that these rewriters were tested with."""

WRITTEN_FOR = "torchvision 0.26 to 0.29"
