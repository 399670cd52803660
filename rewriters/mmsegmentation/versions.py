"""The versions that these rewriters were written for."""

WRITTEN_FOR = "mmsegmentation 1.2.2, onedl-mmsegmentation 1.4.2"
