"""What holds of all weights that torchvision offers."""

card = dict(
    licence="code BSD-3-Clause; torchvision says of its weights that they may have licences or terms of their own, "
    "derived from the data set they were trained on (COCO), and that clearing them is up to you"
)
