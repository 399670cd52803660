"""One module for each part: which of mmseg's keys come to which arguments of zooport's own class."""
