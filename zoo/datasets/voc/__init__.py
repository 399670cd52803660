"""PASCAL VOC's layout: splits as lists of names, boxes in XML, palette label maps."""
