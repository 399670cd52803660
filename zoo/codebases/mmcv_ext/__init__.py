"""A stand-in for mmcv's compiled operators, mmcv._ext, made of torchvision's and of plain PyTorch.

mmcv compiles them on the machine that installs it, and does not compile with today's torch. Without them neither mmdet
nor mmseg can be imported. The stand-in has those that their models need to run; no operator learns. It is in
`stand_in.py`, which imports torch; this package does not.
"""
