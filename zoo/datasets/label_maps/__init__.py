"""A label map for each image: what all such data sets share, and the layouts of Cityscapes and ADE20K."""
