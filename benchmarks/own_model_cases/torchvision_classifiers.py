"""Classifiers of torchvision: TorchvisionClassifier."""

from own_model_classifiers import SIZE, classifier

MADE_OF = ("zoo/models/classification", "zoo/tasks/image_classification", "benchmarks/own_model_classifiers.py")
ARCHITECTURES = (
    *("alexnet", "convnext_tiny", "densenet121", "efficientnet_b0", "efficientnet_v2_s", "googlenet", "mnasnet0_5"),
    *("mobilenet_v2", "mobilenet_v3_small", "regnet_x_400mf", "regnet_y_400mf", "resnet18", "resnext50_32x4d"),
    *("shufflenet_v2_x0_5", "squeezenet1_1", "swin_t", "vgg11_bn"),
)
FIXED = {  # two take the size that they were built for; torch.export takes long for dynamic sizes of the third
    "maxvit_t": (224, 224),
    "vit_b_32": (224, 224),
    "swin_v2_t": SIZE,
}
LARGE = {"inception_v3": ((299, 299), (331, 347))}  # it halves its input too often for smaller ones
CASES = {
    **{name: classifier("TorchvisionClassifier", name) for name in ARCHITECTURES},
    **{name: classifier("TorchvisionClassifier", name, size, None) for name, size in FIXED.items()},
    **{name: classifier("TorchvisionClassifier", name, *sizes) for name, sizes in LARGE.items()},
}
